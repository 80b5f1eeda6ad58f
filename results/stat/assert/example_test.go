package assert_test

import (
	"fmt"
	"log"

	"github.com/pipebench/pipebench/results/resultstest"
	"github.com/pipebench/pipebench/results/stat/assert"
)

func ExampleParse() {
	c, err := assert.Parse("to-raw>0.95@64KiB,framing=ndjson,placement=same")
	if err != nil {
		log.Fatal(err)
	}
	judged := c.Evaluate(resultstest.Sweep())
	fmt.Println(judged.Outcome, "-", judged.Why)

	_, err = assert.Parse("p99<50")
	fmt.Println(err)
	// Output:
	// fails - ndjson 64 KiB stream on one CPU: 0.904
	// assertion "p99<50": value "50": want a duration such as 50ms or 7.5us
}
