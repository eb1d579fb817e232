package schema_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm/schema"
)

func TestManyKeys(t *testing.T) {
	run := func(n int) time.Duration {
		var b strings.Builder
		b.WriteString(`{"type":"object","properties":{`)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"key%09d":{"type":"string"}`, i)
		}
		b.WriteString(`}}`)
		at := time.Now()
		schema.Strict([]byte(b.String()))
		return time.Since(at)
	}
	// The same number of keys in eight objects and in one: both take about as long, so that
	// what else the machine does slows them down alike.
	for range 5 {
		var a time.Duration
		for range 8 {
			a += run(10000)
		}
		b := run(80000)
		t.Logf("8 times 10000: %s, 80000: %s", a, b)
		if b < 4*a {
			return
		}
	}
	t.Error("quadratic")
}
