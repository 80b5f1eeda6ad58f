#!/usr/bin/env node
// Starts the binary of this system with the same streams, and ends as it does. process.stdin and
// its like are not touched: Node would make the streams that both share non-blocking.
"use strict";
const { spawn } = require("child_process");
const { isatty } = require("tty");

const system = `${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "pipebench.exe" : "pipebench";
let binary;
try {
  binary = require.resolve(`@pipebench/${system}/${file}`);
} catch {
  console.error(
    `pipebench: no package @pipebench/${system}: either there is none for this system, ` +
      "or npm was told to leave out optional dependencies",
  );
  process.exit(1);
}

const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });

// At a terminal, Ctrl-C reaches the binary without us.
const passOn = (signal) => {
  if (signal !== "SIGINT" || !isatty(0)) child.kill(signal);
};
const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of signals) process.on(signal, passOn);

child.on("error", (err) => {
  console.error(`pipebench: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  for (const s of signals) process.removeListener(s, passOn);
  process.kill(process.pid, signal);
});
