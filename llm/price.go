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

// Dollars converts dollars, rounding to the nearest nano-dollar.
func Dollars(d float64) USD { return USD(math.Round(d * 1e9)) }

// Float returns the amount in dollars.
func (u USD) Float() float64 { return float64(u) / 1e9 }

// String formats the amount for users: with two decimals from one dollar on, with four below,
// and with more if those would not show its first two digits, so that an amount above zero
// never looks like zero.
func (u USD) String() string {
	d := max(u, -math.MaxInt64) // the least value has no positive counterpart
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

// Rate is a price per million tokens, or per use for what is not counted in tokens. The zero
// value is an unknown rate, which is different from free.
type Rate struct {
	usd   float64
	known bool
}

// PerMillion returns a known rate of d dollars per million tokens.
func PerMillion(d float64) Rate { return Rate{usd: d, known: true} }

// Known reports whether the rate is known.
func (r Rate) Known() bool { return r.known }

// Dollars returns the rate in dollars; 0 if it is unknown.
func (r Rate) Dollars() float64 { return r.usd }

// of returns the cost of n tokens.
func (r Rate) of(n int) USD { return USD(math.Round(float64(n) * r.usd * 1e3)) }

// MarshalJSON writes dollars per million tokens; an unknown rate is null.
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

// Price is the price of a model, in dollars per million tokens.
type Price struct {
	Input          Rate `json:"input"`
	Output         Rate `json:"output"`
	CacheRead      Rate `json:"cacheRead"`
	CacheWrite     Rate `json:"cacheWrite"`
	CacheWriteLong Rate `json:"cacheWriteLong"` // if unknown: twice Input, if that is known, marked unreliable
	WebSearch      Rate `json:"webSearch"`      // dollars per thousand searches
	// Steps replace the rates above for the whole request if its prompt has more than Above
	// tokens. They are in ascending order of Above.
	Steps []PriceStep `json:"steps,omitempty"`
	// Unreliable marks a price that was inferred from a similar model.
	Unreliable bool `json:"unreliable,omitempty"`
}

// PriceStep is the price of large requests.
type PriceStep struct {
	Above      int  `json:"above"` // prompt tokens
	Input      Rate `json:"input"`
	Output     Rate `json:"output"`
	CacheRead  Rate `json:"cacheRead"`
	CacheWrite Rate `json:"cacheWrite"`
}

// Known reports whether tokens of this model have a price at all.
func (p Price) Known() bool { return p.Input.known && p.Output.known }

// Cost is the cost of an answer, at the price when it was given. It is stored with the message
// and never computed again.
type Cost struct {
	Input      USD `json:"input"`
	Output     USD `json:"output"`
	CacheRead  USD `json:"cacheRead"`
	CacheWrite USD `json:"cacheWrite"`
	Tools      USD `json:"tools,omitempty"`
	Total      USD `json:"total"`
	// Unknown marks a cost without a known rate for some part: Total is then a lower bound,
	// and 0 does not mean free.
	Unknown bool `json:"unknown,omitempty"`
	// Unreliable marks a cost that was computed with a substitute rate.
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

// Cost computes the cost of u. If a needed rate is unknown, it uses the nearest known one that
// is not lower (Input for cache reads and writes, twice Input for long writes) and marks the
// cost as unreliable; without one, it marks the cost as unknown. Reasoning is part of Output
// and not charged again.
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
