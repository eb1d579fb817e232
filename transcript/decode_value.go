package transcript

import (
	"encoding/json"
	"strconv"

	"github.com/burin-dev/burin/llm"
)

// name reads a word that is likely to repeat.
func (d *decoder) name(to *string) bool {
	s, ok := d.w.String()
	if !ok {
		return false
	}
	if known, found := d.names[string(s)]; found {
		*to = known
		return true
	}
	*to = string(s)
	if len(s) <= longName {
		if d.names == nil || len(d.names) >= maxNames {
			d.names = map[string]string{}
		}
		d.names[*to] = *to
	}
	return true
}

// text reads a string.
func (d *decoder) text(to *string) bool {
	s, ok := d.w.String()
	*to = string(s)
	return ok
}

// raw skips a value and returns its text.
func (d *decoder) raw() ([]byte, bool) {
	if d.w.Peek() == 'n' {
		return nil, false
	}
	from := d.w.At
	if !d.w.Skip() {
		return nil, false
	}
	text := d.w.Text[from:d.w.At]
	return text, json.Valid(text)
}

func (d *decoder) count(to *int) bool {
	var n int64
	ok := d.integer(&n)
	*to = int(n)
	return ok && int64(*to) == n
}

// integer reads a number without a fraction, of at most 18 digits.
func (d *decoder) integer(to *int64) bool {
	digits, fraction := d.number()
	n, err := strconv.ParseInt(string(digits), 10, 64)
	*to = n
	return err == nil && !fraction
}

func (d *decoder) dollars(to *llm.USD) bool {
	text, _ := d.number()
	f, err := strconv.ParseFloat(string(text), 64)
	*to = llm.Dollars(f)
	return err == nil
}

// number skips a number; it refuses exponents and more than 18 bytes.
func (d *decoder) number() (text []byte, fraction bool) {
	d.w.Peek()
	from := d.w.At
	digits := func() int {
		was := d.w.At
		for d.w.At < len(d.w.Text) && '0' <= d.w.Text[d.w.At] && d.w.Text[d.w.At] <= '9' {
			d.w.At++
		}
		return d.w.At - was
	}
	d.skipByte('-')
	first := d.w.At
	n := digits()
	if n == 0 || n > 1 && d.w.Text[first] == '0' {
		return nil, false
	}
	if d.skipByte('.') {
		if fraction = true; digits() == 0 {
			return nil, false
		}
	}
	if text = d.w.Text[from:d.w.At]; len(text) > 18 {
		return nil, false
	}
	return text, fraction
}

// skipByte skips c if it is the next byte.
func (d *decoder) skipByte(c byte) bool {
	if d.w.At < len(d.w.Text) && d.w.Text[d.w.At] == c {
		d.w.At++
		return true
	}
	return false
}

func (d *decoder) boolean(to *bool) bool {
	*to = d.w.Peek() == 't'
	if *to {
		return d.w.Word("true")
	}
	return d.w.Word("false")
}
