package host

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// chatWords are the system prompt of chats.
//
//go:embed chat.md
var chatWords string

// Chat is a session without a folder. No command runs in it, and it has nothing of what the
// owner of this machine has set up for themselves: no instruction files, skills, hooks, memory,
// agents, grants or secrets of the environment. Of the host it has the models, their keys, which it uses
// and doesn't see, and the account.
type Chat struct {
	// Log opens its transcript.
	Log func(transcript.Options) (*transcript.Log, error)
	// Accept is called before a message of a person is written; an error refuses it. nil: nobody is.
	Accept func(context.Context) error
	// Attachment gives a file that a message refers to as attachment:ID. nil: there are none.
	Attachment func(ctx context.Context, id string) (data []byte, name string, err error)
	// Files are those that its tools see; nil: it has none.
	Files workspace.Files
	// Account is whose costs these are in the ledger, as a project's.
	Account string
	// Meter has limits beyond those of this machine, and keeps accounts of its own; nil: there are none.
	Meter session.Meter
	// Models gives lists of selectors: every model that is asked must fit one of each list. nil: all may be.
	Models func(context.Context) ([][]string, error)
	// Choice is the model that was chosen, and Default the one for chats without. Where its person may
	// not use that, it is the first one that they may.
	Choice       Choice
	Default      Choice
	Thinking     llm.Level
	MaxTokens    int
	ModelSearch  bool // the model itself searches the web, where it can
	Instructions string
	Without      []string       // tools that it doesn't have of those that make sense in a chat
	Extra        []*tool.Tool   // that it has besides
	Chains       session.Chains // with which these take part in the conversation
	Minions      *Minions       // that work for it; nil: none do
	Mode         string         // of approval
	MaxCost      llm.USD
	Desk         *session.Desk
	Warn         func(string)
}

// OpenChat opens a chat.
func OpenChat(ctx context.Context, h *Host, c Chat) (*session.Session, error) {
	settings, err := h.Settings()
	if err != nil {
		return nil, err
	}
	search := settings.Providers.WebSearch
	if c.ModelSearch {
		search = "model"
	}
	o := Session{
		Session: bench.Session{
			System: chatWords, Append: c.Instructions, Approval: c.Mode, Desk: c.Desk, ExtraTools: c.Extra, Chains: c.Chains, Warn: c.Warn, MaxCost: c.MaxCost, MaxTokens: c.MaxTokens,
			Log: c.Log, Retry: retryOf(settings), Compaction: compactionOf(settings), WebSearch: search,
			LargeImages: !settings.Bool("images.autoResize"), NoImages: settings.Images.BlockImages, NoGoals: true, Titles: settings.Titles.Model,
			Without: slices.Concat(switchedOff(settings), c.Without), Advisor: session.AdvisorOff,
		},
		Choice: c.Choice, Note: c.Warn,
	}
	o.Thinking.Level = c.Thinking
	m, err := h.Models()
	if err != nil {
		return nil, err
	}
	may := permitted{func() *catalog.Catalog {
		if now, err := h.Models(); err == nil {
			return now.Catalog
		}
		return m.Catalog
	}, c.Models}
	if c.Choice.Model == "" {
		if o.Choice, err = may.first(ctx, c.Default); err != nil {
			return nil, err
		}
	}
	if c.Attachment != nil {
		o.Attached = func(ctx context.Context, b llm.Block, address string) (llm.Block, error) {
			id, ok := strings.CutPrefix(strings.TrimPrefix(address, "blob:"), "attachment:") // as clients and transcripts have it
			if !ok {
				return b, nil
			}
			data, name, err := c.Attachment(ctx, id)
			if err == nil {
				b, err = AttachData(ctx, data, name)
			}
			if err != nil {
				return nil, fmt.Errorf("attachment %.80q: %w", id, err)
			}
			return b, nil
		}
	}
	present, err := findPresentModel(ctx, h, &o, settings)
	if err != nil {
		return nil, err
	}
	o.Models = newestOpener{o.Models, h, m, settings.Images.BlockImages}
	if err := may.bind(ctx, &o); err != nil {
		return nil, err
	}
	var s *session.Session
	o.Brief = func(ctx context.Context, _ string) (string, error) {
		is := s.Facts()
		var err error
		if is.Unusable != "" {
			err = present(ctx)
		}
		if err == nil {
			err = may.check(ctx, is.Model)
		}
		if err == nil && c.Accept != nil {
			err = c.Accept(ctx)
		}
		return "", err
	}
	account, err := h.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	o.Meter = metered{may, c.Meter, &meter{ledger: account, project: c.Account, limits: limitsOf(settings)}}
	files := c.Files
	if files == nil {
		files = workspace.NewMemory()
	}
	client, err := webOf(h)
	if err != nil {
		return nil, err
	}
	bind := giveMinions(h, &c, &o, may, settings)
	b, err := bench.Open(bench.Options{Files: files, NoFiles: true, Environ: []string{}, HTTP: client, Warn: c.Warn})
	if err != nil {
		return nil, err
	}
	o.Closed = b.Close
	if s, err = b.Start(ctx, o.Session); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	bind(b, s)
	return s, nil
}
