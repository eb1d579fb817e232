package latex

import (
	"strings"
	"testing"
)

func TestUnicode(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`x`, `x`},
		{`\alpha\beta`, `αβ`},
		{`\alpha x`, `αx`},
		{`x^2 + y_{10}`, `x² + y₁₀`},
		{`x^{2n+1}`, `x²ⁿ⁺¹`},
		{`x^{\theta}`, `x^θ`},
		{`e^{i\pi}`, `e^(iπ)`},
		{`\frac{1}{2}`, `½`},
		{`\frac{a+b}{c}`, `(a+b)/c`},
		{`\sqrt{2} \sqrt[3]{x+1}`, `√2 ∛(x+1)`},
		{`\sum_{i=1}^{n} i`, `∑ᵢ₌₁ⁿ i`},
		{`\mathbb{R} \in \mathcal{F}`, `ℝ ∈ F`},
		{`\left( a \right)`, `( a )`},
		{`\hat{x} \vec v`, "x\u0302 v\u20d7"},
		{`\text{if } x \neq 0`, `if  x ≠ 0`},
		{`a \\ b`, "a \n b"},
		{`f'(x)`, `f′(x)`},
		{`\unknown{x}`, `\unknownx`},
		{`\{a\}`, `{a}`},
		{`\frac`, `/`},
		{`\`, `\`},
		{`{`, ``},
		{`x^`, `x`},
	} {
		if got := Unicode(tt.in); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzUnicode(f *testing.F) {
	for _, s := range []string{`\frac{\sqrt[3]{x^{2_{a}}}}{\left(y\right)}`, `\begin{cases} a & b \\ c \end{cases}`, `\hat\hat\hat x`, `^{^{^{`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) < 2000 {
			if got := Unicode(s); len(got) > 8*len(s)+16 {
				t.Errorf("%d bytes became %d", len(s), len(got))
			}
		}
	})
}

func BenchmarkUnicode(b *testing.B) {
	tex := strings.Repeat(`\sum_{i=1}^{n} \frac{x_i^2}{\sqrt{y_i}} \leq \alpha `, 4)
	b.ReportAllocs()
	for b.Loop() {
		Unicode(tex)
	}
}
