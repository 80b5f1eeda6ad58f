"""Makes the files that the commands of programs.tsv read. They are the same on every machine."""

import json
import os
import random
import shutil
import sqlite3


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())


def make_data(folder):
    """Makes the files that the commands of programs.tsv name."""
    shutil.rmtree(folder, ignore_errors=True)
    numbers = range(1, 6001)

    def at(name):
        return os.path.join(folder, name)

    words = "of a text, with é,"
    text = "".join(f"line {i:05d} {words} {i * i} and some more words\n" for i in numbers)
    write(at("lines.txt"), text)
    write(at("other.txt"), text.replace("7", "8"))
    write(at("pairs.txt"), "".join(f"n{i} n{i + 1}\n" for i in numbers))
    write(at("numbers.txt"), "".join(f"{i * 7919}\n" for i in numbers))
    write(at("program.bc"), "".join(f"{i}^9\n" for i in numbers))
    write(at("bytes"), random.Random(1).randbytes(300_000))
    things = [{"id": i, "name": f"thing {i}", "tags": ["a", "é", str(i)]} for i in numbers]
    write(at("doc.json"), json.dumps(things, indent=1))
    write(at("doc.ndjson"), "".join(json.dumps(t) + "\n" for t in things))
    write(at("doc.yaml"), "".join(f"- id: {i}\n  name:  thing {i}\n" for i in range(1500)))
    write(at("table.csv"), "id,name,square\n" + "".join(f"{i},n{i},{i * i}\n" for i in numbers))
    write(at("doc.xml"), "<a>" + "".join(f"<b n='{i}'>t {i}</b>" for i in numbers) + "</a>\n")
    write(at("doc.md"), "# Text\n\n" + "".join(f"- item *{i}* of `{i * i}`\n" for i in numbers))
    items = "".join(f"<p class='c{i}'>paragraph {i}</p>\n" for i in range(1800))
    head = "<!DOCTYPE html>\n<html lang='en'><head><title>t</title></head><body>\n"
    write(at("page.html"), head + items + "</body></html>\n")
    few = range(1, 2401)
    write(at("style.css"), "".join(f".c{i} {{ color: #{i:06x}; margin: {i}px; }}\n" for i in few))
    write(at("style.less"), "".join(f".c{i} {{ .d {{ margin: {i}px + 1; }} }}\n" for i in few))
    write(at("code.js"), "".join(f"export function f{i}(a) {{ return a + {i}; }}\n" for i in few))
    write(at("code.ts"), "".join(f"export const v{i}: number = {i};\n" for i in numbers))
    write(at("code.c"), "".join(f"int f{i}(int a) {{ return a + {i}; }}\n" for i in numbers))
    functions = "".join(f"func F{i}(a int) int {{ return a }}\n" for i in numbers)
    write(at("code.go"), "package code\n" + functions)
    write(at("script.sh"), "".join(f"if true; then\necho $a{i}\nfi\n" for i in range(300)))
    edges = " ".join(f"n{i} -> n{i // 2};" for i in range(300))
    write(at("graph.dot"), "digraph { " + edges + " }\n")
    recipe = "".join(f"\t@echo {i} of the rules of this file\n" for i in numbers)
    write(at("rules.mk"), "all:\n" + recipe)
    sections = "".join(f".SH S{i}\nA paragraph, number {i}.\n" for i in range(2000))
    write(at("manual.1"), ".TH T 1\n" + sections)
    write(at("macros.m4"), "define(`x', `y $1')\n" + "".join(f"x({i}) is one\n" for i in numbers))
    for i in range(1200):
        name = f"tree/folder-{i % 40:02d}/a-file-with-a-long-name-{i:04d}.txt"
        write(at(name), f"some text {i}\n")
    table = sqlite3.connect(at("table.db"))
    table.execute("CREATE TABLE things (id INTEGER, name TEXT)")
    things = [(i, f"thing number {i}") for i in numbers]
    table.executemany("INSERT INTO things VALUES (?, ?)", things)
    table.commit()
    table.close()
    folders = "".join(f"tree/folder-{i:02d}\n" for i in range(40))
    write(at("names.txt"), "tree\n" + folders + "bytes\n")
    loop = "for {set i 0} {$i < 30000} {incr i} "
    write(at("program.tcl"), loop + '{ puts "$i of Tcl" }\n')
    # What one client reads as its commands, and a configuration for the clients that need one.
    write(at("call.txt"), 'echo {"message":"hello"}\n')
    config = {"mcpServers": {"s": {"command": "{program}", "args": "{arguments}"}}}
    write(at("mcp.json"), json.dumps(config))
