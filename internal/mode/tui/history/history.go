// Package history remembers the prompts of all sessions, so that a person can go back
// to them with the arrow keys ([History.Prefix]) and look for them ([History.Search]).
//
// They are kept in history.db in the data folder, an SQLite database with a full-text
// index. [Open] touches nothing; the file is made with the first prompt.
//
// # What is promised
//
//   - [History.Add] and [History.Prefix] never wait for the disk. A goroutine writes
//     what was added; it lives only while there is something to write.
//   - A prompt that is used again moves to the front instead of being there twice.
//   - At most 10,000 prompts and 64 MB of them are kept; the oldest go. A prompt of more
//     than 256 KB is not kept. Of the newest, 8 MB are in memory for Prefix.
//   - What is written passed [Options.Hide]. What was typed in this process stays in its
//     memory as it was typed, so that it can be sent again.
//   - Several processes may share the file. What one of them adds, Search finds in all;
//     Prefix shows it to those that start later, so that the arrow keys of one terminal
//     are not mixed with those of another.
//   - The file can be read by its owner only. One that is damaged is set aside as
//     history.db.damaged, in place of an older one, and what can be read of it is taken
//     over. Nothing about the file is ever fatal: without it, the prompts of this
//     process are still there.
//
// Prompts of the project's folder come first, those of others follow.
package history

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// FileName is the name of the file in the data folder.
const FileName = "history.db"

const (
	// MaxPrompt is how many bytes a prompt may have to be kept.
	MaxPrompt = 256 << 10
	// MaxPrompts is how many prompts are kept.
	MaxPrompts = 10_000
	maxKept    = 64 << 20 // bytes of prompts in the file
	maxMemory  = 8 << 20  // bytes of prompts in memory
	// maxQueue is how many prompts may wait to be written. Further ones are not
	// kept, and Problem is told; this takes a disk that hangs.
	maxQueue = 256
)

// Entry is a prompt that was sent.
type Entry struct {
	Text string
	Dir  string // the project's folder
	At   time.Time
}

// Options of a [History].
type Options struct {
	Home string // the data folder; without one, nothing is kept on the disk
	Dir  string // the project's folder, whose prompts come first
	// Hide takes the secrets out of a prompt before it is written; nil changes
	// nothing. It is called from another goroutine.
	Hide func(string) string
	// Problem is told once of each reason why prompts cannot be kept. It is called
	// from another goroutine.
	Problem func(error)
}

// History is the prompts of one home. It is safe for concurrent use.
type History struct {
	o     Options
	store *store

	mu      sync.Mutex
	typed   recent // of this process and, once they are loaded, before it
	queue   []Entry
	writing bool
	loading bool
	closed  bool
	told    map[string]bool
	work    sync.WaitGroup // the writer and the loader
	ctx     context.Context
	stop    context.CancelFunc
}

// Open gives the history of a data folder. It reads, creates and starts nothing yet.
func Open(o Options) *History {
	if o.Hide == nil {
		o.Hide = func(s string) string { return s }
	}
	// The context is the history's life: Close ends what is under way for nobody.
	ctx, stop := context.WithCancel(context.Background())
	return &History{o: o, store: &store{home: o.Home}, told: map[string]bool{}, ctx: ctx, stop: stop}
}

// Add remembers a prompt that was sent in a folder. Blank ones and those of more than
// [MaxPrompt] are not kept.
func (h *History) Add(text, dir string, at time.Time) {
	if len(text) > MaxPrompt || strings.TrimSpace(text) == "" {
		return
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	h.mu.Lock()
	h.typed.add(text)
	full := len(h.queue) >= maxQueue
	if !full && !h.closed && h.o.Home != "" {
		h.queue = append(h.queue, Entry{text, dir, at})
		h.startWriter()
	}
	h.mu.Unlock()
	if full {
		h.problem(errors.New("the prompt history cannot be written right now: a prompt was not saved"))
	}
}

// Load begins to read the newest prompts, so that Prefix knows them. A face calls it
// when the first screen is drawn; Prefix does so otherwise.
func (h *History) Load() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.loading || h.closed || h.o.Home == "" {
		return
	}
	h.loading = true
	h.work.Go(h.load)
}

func (h *History) load() {
	texts, err := h.store.newest(h.ctx, h.o.Dir)
	if err != nil {
		h.problem(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.typed.before(texts)
}

// Prefix gives the back-th prompt before the present, 1 being the latest, of those
// that begin with prefix. A prompt that is the prefix and no more is left out: it is
// what stands there already. Until the file is read it knows the prompts of this
// process.
func (h *History) Prefix(prefix string, back int) (string, bool) {
	h.Load()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.typed.prefix(prefix, back)
}

// Close writes what is left and closes the file. What is under way for more than some
// seconds, because another process holds the file, is given up.
func (h *History) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	h.mu.Unlock()
	defer h.stop()
	give := time.AfterFunc(closing, h.stop)
	defer give.Stop()
	h.work.Wait()
	err := h.flush(h.ctx)
	if err != nil {
		h.mu.Lock()
		err = fmt.Errorf("save the last prompts (%d): %w", len(h.queue), err)
		h.mu.Unlock()
	}
	return errors.Join(err, h.store.close())
}

// closing is how long Close may take.
const closing = 5 * time.Second

// problem tells of what went wrong, once.
func (h *History) problem(err error) {
	if h.o.Problem == nil || errors.Is(err, context.Canceled) {
		return
	}
	h.mu.Lock()
	known := h.told[err.Error()] || len(h.told) >= 16
	if !known {
		h.told[err.Error()] = true
	}
	h.mu.Unlock()
	if !known {
		h.o.Problem(err)
	}
}
