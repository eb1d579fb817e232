package catalog

import (
	"fmt"
	"math"
	"strconv"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// TokenWords writes a limit in tokens for people; 0 is not known.
func TokenWords(n int) string {
	if n == 0 {
		return "?"
	}
	return prose.Tokens(n)
}

// RateWords writes a price for people; "~" marks one taken over from a similar model.
func RateWords(r llm.Rate, unreliable bool) string {
	if !r.Known() {
		return "?"
	}
	d := r.Dollars()
	if d == 0 {
		return "free"
	}
	s := "$" + strconv.FormatFloat(d, 'f', -1, 64)
	if cents := d * 100; d != math.Trunc(d) && (math.Abs(cents-math.Round(cents)) < 1e-6 || d >= 10) {
		s = fmt.Sprintf("$%.2f", d)
	}
	if unreliable {
		return "~" + s
	}
	return s
}
