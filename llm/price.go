package llm

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
)

// USD is an amount of money in nano-dollars (1e-9 USD), exact under addition.
// Its JSON is a number of dollars.
type USD int64

// Dollars converts a number of dollars, rounding to the nearest nano-dollar.
func Dollars(d float64) USD { return USD(math.Round(d * 1e9)) }

// Float is the amount in dollars.
func (u USD) Float() float64 { return float64(u) / 1e9 }

// String is the amount for people: with two decimals from a dollar on, with four below,
// and with more where these would not show its first two digits, so that what is more than
// nothing never looks like it.
func (u USD) String() string {
	d := max(u, -math.MaxInt64) // the least has no counterpart
	if d < 0 {
		return "-" + (-d).String()
	}
	decimals := 2
	if d > 0 && d < 1e9 {
		decimals = max(4, 9-len(strconv.FormatInt(int64(d), 10))+2)
	}
	s := strconv.FormatFloat(d.Float(), 'f', min(decimals, 9), 64)
	for decimals > 4 && s[len(s)-1] == '0' && len(s) > len("0.0000") {
		s = s[:len(s)-1]
	}
	return "$" + s
}

// MarshalJSON writes dollars.
func (u USD) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, u.Float(), 'f', -1, 64), nil
}

// UnmarshalJSON reads dollars.
func (u *USD) UnmarshalJSON(b []byte) error {
	var d float64
	if err := json.Unmarshal(b, &d); err != nil {
		return errors.New("an amount of money must be a number of dollars")
	}
	*u = Dollars(d)
	return nil
}

// Rate is a price per million tokens, or per use for what is not counted in
// tokens. The zero value is an unknown rate, which is not the same as free.
type Rate struct {
	usd   float64
	known bool
}

// PerMillion is a known rate of d dollars per million tokens.
func PerMillion(d float64) Rate { return Rate{usd: d, known: true} }

// Known says whether the rate is known.
func (r Rate) Known() bool { return r.known }

// Dollars is the rate in dollars; 0 when unknown.
func (r Rate) Dollars() float64 { return r.usd }

// of is the cost of n tokens.
func (r Rate) of(n int) USD { return USD(math.Round(float64(n) * r.usd * 1e3)) }

// MarshalJSON writes dollars per million tokens; null is an unknown rate.
func (r Rate) MarshalJSON() ([]byte, error) {
	if !r.known {
		return []byte("null"), nil
	}
	return json.Marshal(r.usd)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Rate) UnmarshalJSON(b []byte) error {
	var d *float64
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	*r = Rate{}
	if d != nil {
		*r = PerMillion(*d)
	}
	return nil
}

// Price is what a model costs, in dollars per million tokens.
type Price struct {
	Input          Rate `json:"input"`
	Output         Rate `json:"output"`
	CacheRead      Rate `json:"cacheRead"`
	CacheWrite     Rate `json:"cacheWrite"`
	CacheWriteLong Rate `json:"cacheWriteLong"` // unknown: twice Input, if that is known, marked unreliable
	WebSearch      Rate `json:"webSearch"`      // dollars per thousand searches
	// Steps replace the rates above for the whole request once its prompt is
	// larger than Above tokens. Ascending by Above.
	Steps []PriceStep `json:"steps,omitempty"`
	// Unreliable marks a price that was inferred from a similar model.
	Unreliable bool `json:"unreliable,omitempty"`
}

// PriceStep is the price of long requests.
type PriceStep struct {
	Above      int  `json:"above"` // prompt tokens
	Input      Rate `json:"input"`
	Output     Rate `json:"output"`
	CacheRead  Rate `json:"cacheRead"`
	CacheWrite Rate `json:"cacheWrite"`
}

// Known says whether tokens of this model can be priced at all.
func (p Price) Known() bool { return p.Input.known && p.Output.known }

// Cost is what an answer cost, at the price of its moment. It is stored with
// the message and never computed again.
type Cost struct {
	Input      USD `json:"input"`
	Output     USD `json:"output"`
	CacheRead  USD `json:"cacheRead"`
	CacheWrite USD `json:"cacheWrite"`
	Tools      USD `json:"tools,omitempty"`
	Total      USD `json:"total"`
	// Unknown marks a cost of which some part has no known rate: Total is then
	// a lower bound, and 0 does not mean free.
	Unknown bool `json:"unknown,omitempty"`
	// Unreliable marks a cost computed with a rate that stands in for the real one.
	Unreliable bool `json:"unreliable,omitempty"`
}

func (c *Cost) add(d *Cost) Cost {
	var sum Cost
	for _, x := range []*Cost{c, d} {
		if x == nil {
			continue
		}
		sum.Input += x.Input
		sum.Output += x.Output
		sum.CacheRead += x.CacheRead
		sum.CacheWrite += x.CacheWrite
		sum.Tools += x.Tools
		sum.Total += x.Total
		sum.Unknown = sum.Unknown || x.Unknown
		sum.Unreliable = sum.Unreliable || x.Unreliable
	}
	return sum
}

// Cost computes what u costs. A rate that is needed and unknown is replaced by
// the nearest known one that is not lower where there is one (cache reads and
// writes by Input, long writes by twice Input) and the cost is marked
// unreliable; otherwise the cost is marked unknown. Reasoning is part of
// Output and is not charged again.
func (p Price) Cost(u Usage) Cost {
	in, out, read, write := p.Input, p.Output, p.CacheRead, p.CacheWrite
	long := p.CacheWriteLong
	for _, s := range p.Steps {
		if u.Prompt() > s.Above {
			in, out, read, write = s.Input, s.Output, s.CacheRead, s.CacheWrite
			long = Rate{}
		}
	}
	c := Cost{Unreliable: p.Unreliable}
	charge := func(n int, r, standIn Rate) USD {
		switch {
		case n == 0:
			return 0
		case r.known:
			return r.of(n)
		case standIn.known:
			c.Unreliable = true
			return standIn.of(n)
		}
		c.Unknown = true
		return 0
	}
	writeIn := Rate{usd: in.usd * 1.25, known: in.known}
	longIn := Rate{usd: in.usd * 2, known: in.known}
	c.Input = charge(u.Input, in, Rate{})
	c.Output = charge(u.Output, out, Rate{})
	c.CacheRead = charge(u.CacheRead, read, in)
	c.CacheWrite = charge(max(0, u.CacheWrite-u.CacheWriteLong), write, writeIn) + charge(u.CacheWriteLong, long, longIn)
	if u.WebSearches > 0 {
		if p.WebSearch.known {
			c.Tools = USD(math.Round(float64(u.WebSearches) * p.WebSearch.usd * 1e6))
		} else {
			c.Unknown = true
		}
	}
	c.Total = c.Input + c.Output + c.CacheRead + c.CacheWrite + c.Tools
	return c
}
