package catalog

import (
	"fmt"
	"math"
	"strconv"

	"github.com/burin-dev/burin/llm"
)

// TokenWords writes a number of tokens in thousands or millions, for people; 0 is not
// known.
func TokenWords(n int) string {
	switch {
	case n == 0:
		return "?"
	case n >= 1_000_000:
		return strconv.FormatFloat(float64(n/100_000)/10, 'f', -1, 64) + "M"
	case n >= 1000:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n)
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
