package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/mcp"
)

func TestTemplatesAreFilled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ template, typed, want string }{
		{"test://of/{name}", "", "test://of/"},
		{"test://of/{name}", "test://o", "test://of/"},
		{"test://of/{name}", "test://x", "-"},
		{"test://of/{name}", "test://of/he", "test://of/ name=he"},
		{"test://{a}/b/{c}", "test://x", "test:// a=x /b/{c}"},
		{"test://{a}/b/{c}", "test://x/b/y", "test://x/b/ c=y with a=x"},
		{"test://{a}/b", "test://x/b", "test://x/b with a=x"},
		{"test://{+path}", "test://a/b", "test:// path=a/b"},
		{"test://{a,b}", "test://", "test://"},
		{"test://{a,b}", "test://x", "-"},
		{"test://{a", "test://x", "-"},
	} {
		f, ok := fill(tt.template, tt.typed)
		got := "-"
		if ok {
			got = f.done
			if f.variable != "" {
				got += " " + f.variable + "=" + f.typed
			}
			if f.after != "" {
				got += " " + f.after
			}
			for k, v := range f.with {
				got += " with " + k + "=" + v
			}
		}
		if got != tt.want {
			t.Errorf("%s, %q: %q, want %q", tt.template, tt.typed, got, tt.want)
		}
	}
}

func TestArgumentBeingTyped(t *testing.T) {
	t.Parallel()
	p := mcp.Prompt{Name: "p", Arguments: []mcp.Argument{{Name: "who", Required: true}, {Name: "how"}}}
	for words, want := range map[string]string{
		"":                "who=",
		"he":              "who=he",
		"herons ":         "how= last with who=herons",
		"herons very":     "how=very last with who=herons",
		"herons very ki":  "how=very ki last with who=herons",
		"how=ki":          "how=ki",
		"how=kindly he":   "who=he last with how=kindly",
		"who=a how=b any": "=",
	} {
		argument, typed, last, with := beingTyped(&p, words)
		got := argument + "=" + typed
		if last {
			got += " last"
		}
		for _, a := range p.Arguments {
			if v, ok := with[a.Name]; ok {
				got += fmt.Sprintf(" with %s=%s", a.Name, v)
			}
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}
