package usage

import (
	"fmt"
	"time"

	"github.com/burin-dev/burin/llm"
)

// Limits are the most that may be spent; 0 is no limit.
type Limits struct {
	Turn    llm.USD // one prompt and all that follows from it
	Session llm.USD // the whole life of a session
	Project llm.USD // one folder, in a calendar month
	Month   llm.USD // everything, in a calendar month
	// AllowUnknown lets models without a known price through. They count as what
	// is known of their cost, which may be nothing.
	AllowUnknown bool
}

func (l Limits) any() bool    { return l.Turn > 0 || l.Session > 0 || l.shared() }
func (l Limits) shared() bool { return l.Project > 0 || l.Month > 0 }

// Scope says whose money a request spends. A sub-agent has the scope of the
// session it works for.
type Scope struct {
	Session string
	Project string // absolute folder; empty has no project limit
	Turn    string // unique within the session; empty has no turn limit
	// Resumed says that the session began in an earlier process, whose spending is
	// in the file.
	Resumed bool
}

// Plan is what is known of a request before it is sent.
type Plan struct {
	Model        *llm.Model
	PromptTokens int
	MaxOutput    int // tokens; 0 = the model's limit
}

// assumedOutput is the number of output tokens of a model that has no known limit.
const assumedOutput = 8192

// Estimate is what a request costs at most, short of a cache tier of an hour and
// of tools that run at the vendor: the whole prompt as fresh input, or written to
// the cache where that is dearer, and all the output it may have (0 = the model's
// limit). It is not known where the model's price is not.
func Estimate(m *llm.Model, promptTokens, maxOutput int) (usd llm.USD, known bool) {
	if !m.Price.Known() {
		return 0, false
	}
	if maxOutput <= 0 {
		maxOutput = m.MaxOutput
	}
	if maxOutput <= 0 {
		maxOutput = assumedOutput
	}
	promptTokens = int(bounded(int64(promptTokens)))
	fresh := m.Price.Cost(llm.Usage{Input: promptTokens, Output: maxOutput})
	if fresh.Unknown { // a step of the price has no rate
		return 0, false
	}
	usd = fresh.Total
	if m.Price.CacheWrite.Known() {
		usd = max(usd, m.Price.Cost(llm.Usage{CacheWrite: promptTokens, Output: maxOutput}).Total)
	}
	return llm.USD(bounded(int64(usd))), true
}

// free says whether nothing of a model's tokens costs anything.
func free(p llm.Price) bool {
	if !p.Known() || p.Input.Dollars() != 0 || p.Output.Dollars() != 0 {
		return false
	}
	return p.CacheRead.Dollars() == 0 && p.CacheWrite.Dollars() == 0 && p.CacheWriteLong.Dollars() == 0 && len(p.Steps) == 0
}

// Which names a limit.
type Which string

const (
	LimitTurn    Which = "turn"
	LimitSession Which = "session"
	LimitProject Which = "project"
	LimitMonth   Which = "month"
)

// Nearly is a limit of which most is spent.
type Nearly struct {
	Which        Which
	Limit, Spent llm.USD
}

// nearly reports whether four fifths of a limit are spent.
func nearly(spent, limit llm.USD) bool { return limit > 0 && spent >= limit/5*4 }

// LimitError is that a limit leaves no room for a request. Nothing was sent.
type LimitError struct {
	Which  Which
	Limit  llm.USD
	Spent  llm.USD
	Held   llm.USD   // what requests under way may cost
	Resets time.Time // when the limit begins anew by itself; zero = never
}

// Key is the setting in config.yml that raises the limit.
func (e *LimitError) Key() string { return "limits." + string(e.Which) }

// Temporary says that requests under way hold what is left, and that there is
// room again if they cost less than they may.
func (e *LimitError) Temporary() bool { return e.Spent < e.Limit }

func (e *LimitError) Error() string {
	if e.Temporary() {
		return fmt.Sprintf("requests under way hold what the %s's cost limit of %s leaves: %s spent, %s held; wait for them, or raise %s in config.yml above %s",
			e.Which, e.Limit, e.Spent, e.Held, e.Key(), e.Spent+e.Held)
	}
	line := fmt.Sprintf("the %s's cost limit of %s is reached: %s spent; raise %s in config.yml to go on", e.Which, e.Limit, e.Spent, e.Key())
	if !e.Resets.IsZero() {
		line += ", or wait until " + e.Resets.Format("2 January 2006")
	}
	return line
}

// PriceError is that a limit is set and a model's price is not known. Nothing was
// sent.
type PriceError struct{ Model string } // provider/id

func (e *PriceError) Error() string {
	return fmt.Sprintf("%s has no known price, so a cost limit cannot be enforced: set its price in models.yml (cost: {input: 3, output: 15}, dollars per million tokens; cost: free if it costs nothing)", e.Model)
}
