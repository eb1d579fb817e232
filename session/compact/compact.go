// Package compact makes a long conversation fit its model again, and decides when
// that is worth it. It knows neither disk nor network: it looks at a branch, the
// path from the root to a leaf as [transcript.Entry] values, and says what should
// be appended to it. Nothing is ever removed from a session.
//
// There are two ways to gain room.
//
// A compaction puts a summary in place of old entries. [Plan] finds where to cut,
// [Cut.Summarize] has the model write the summary through an [Asker] and gives the
// entry to append. Another strategy (a hook, a remote service, a summary that
// carries pictures) writes a [Body] of its own and calls [Cut.Entry]. A summary ends
// with what the program writes and the model does not touch: what the user wants
// kept ([Keep]), the files that were used, and a list of what was dropped. So these
// are the same to the byte after any number of compactions.
//
// A prune puts a note in place of single outputs: [Superseded], [Old] and [Shake].
// Since it also makes the provider's prompt cache void from the first changed place
// on, the first two are held against what that costs; see [Cache].
//
// The conversation is data for the model that summarizes it. It is quoted so that no
// text in it can end the quotation or look like part of the request.
package compact

import (
	"context"
	_ "embed"
	"errors"
	"time"
)

// Asker sends one request to a model, without tools, and gives the text of its
// answer. Budget, retries and the record of the cost are the asker's business.
type Asker func(ctx context.Context, system, prompt string, maxTokens int) (string, error)

// ErrNothing means that nothing can be summarized yet.
var ErrNothing = errors.New("nothing to compact yet")

// Strategy is what happens when a conversation becomes too long.
type Strategy string

// Strategies.
const (
	Full        Strategy = "context-full" // a summary takes the place of old entries
	HandOver    Strategy = "handoff"      // a new session begins with a document
	ShakeOut    Strategy = "shake"        // bulky pieces go to an artifact, without a model
	SnapCompact Strategy = "snapcompact"  // old entries become pictures
	Off         Strategy = "off"
)

// Settings are what people set.
type Settings struct {
	Enabled          bool
	Strategy         Strategy
	ReserveTokens    int // kept free for the answer; a summary takes at most 80 % of it
	KeepRecentTokens int // of the newest messages that stay as they are
	ThresholdPercent int // of the window; not positive: not set
	ThresholdTokens  int // wins over the percentage; not positive: not set
	RemoteEndpoint   string
	SupersedeReads   bool

	IdleEnabled         bool
	IdleThresholdTokens int
	IdleTimeout         time.Duration

	BranchEnabled       bool // summarize a branch that is left
	BranchReserveTokens int
}

// Defaults are the settings of those who set nothing.
func Defaults() Settings {
	return Settings{
		Enabled: true, Strategy: Full, ReserveTokens: 16384, KeepRecentTokens: 20_000,
		ThresholdPercent: -1, ThresholdTokens: -1, SupersedeReads: true,
		IdleThresholdTokens: 200_000, IdleTimeout: 300 * time.Second, BranchReserveTokens: 16384,
	}
}

// Threshold is the number of tokens in a window of that size beyond which the
// conversation is compacted; 0 is never, as where compaction is off or the window
// is not known. Without settings of their own it leaves the reserve free, or 15 %
// of the window if that is more, but never more than half: a reserve made for
// large windows would otherwise leave nothing of a small one.
func (s Settings) Threshold(window int) int {
	switch {
	case !s.Enabled || s.Strategy == Off || window <= 1:
		return 0
	case s.ThresholdTokens > 0:
		return min(s.ThresholdTokens, window-1)
	case s.ThresholdPercent > 0:
		return max(1, int(int64(window)*int64(min(s.ThresholdPercent, 99))/100))
	}
	return window - min(max(window*15/100, s.ReserveTokens), window/2)
}

// Words of the program to the models, one Markdown file each.
var (
	//go:embed system.md
	systemWords string
	//go:embed first.md
	firstWords string
	//go:embed update.md
	updateWords string
	//go:embed prefix.md
	prefixWords string
	//go:embed short.md
	shortWords string
	//go:embed branch.md
	branchWords string
	//go:embed handoff.md
	handoffWords string
)
