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
	a, b := run(10000), run(80000)
	t.Logf("10000: %s, 80000: %s", a, b)
	if b > 30*a {
		t.Error("quadratic")
	}
}
