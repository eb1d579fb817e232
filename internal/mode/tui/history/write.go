package history

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"strings"
)

// startWriter sees to it that a goroutine writes the queue. The caller holds mu.
func (h *History) startWriter() {
	if !h.writing {
		h.writing = true
		h.work.Go(h.write)
	}
}

// write empties the queue and ends. After an error the prompts stay in the queue; the
// next one, or Close, tries again.
func (h *History) write() {
	for {
		err := h.flush(h.ctx)
		if err != nil {
			h.problem(err)
		}
		h.mu.Lock()
		if err != nil || len(h.queue) == 0 {
			h.writing = false
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
	}
}

// flush writes what is in the queue now, in one transaction. It is safe for concurrent
// use: what two of them write twice is there once.
func (h *History) flush(ctx context.Context) error {
	h.mu.Lock()
	batch := h.queue[:len(h.queue):len(h.queue)]
	h.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	hidden := make([]Entry, 0, len(batch))
	for _, e := range batch {
		e.Text = h.o.Hide(e.Text)
		if len(e.Text) <= MaxPrompt && strings.TrimSpace(e.Text) != "" {
			hidden = append(hidden, e)
		}
	}
	if err := h.store.add(ctx, hidden); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	// Another flush may have taken some of them.
	for len(batch) > 0 && len(h.queue) > 0 && h.queue[0] != batch[0] {
		batch = batch[1:]
	}
	h.queue = h.queue[min(len(batch), len(h.queue)):]
	if len(h.queue) == 0 {
		h.queue = nil // its array holds texts
	}
	return nil
}

// add writes entries and drops the oldest beyond the limits.
func (s *store) add(ctx context.Context, entries []Entry) error {
	err := s.with(ctx, true, func(db *sql.DB) error { return insert(ctx, db, entries) })
	if err != nil {
		return fmt.Errorf("write the prompt history: %w", err)
	}
	return nil
}

func insert(ctx context.Context, db *sql.DB, entries []Entry) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	for _, e := range entries {
		sum := sha256.Sum256([]byte(e.Text))
		_, err := tx.ExecContext(ctx, `
			INSERT INTO prompts (dir, at, size, hash, text) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (dir, hash) DO UPDATE SET at = max(at, excluded.at)`,
			e.Dir, e.At.UnixNano(), len(e.Text), sum[:16], e.Text)
		if err != nil {
			return err
		}
	}
	// The sum runs from the newest to the oldest, over the index alone.
	_, err = tx.ExecContext(ctx, `
		DELETE FROM prompts WHERE id IN (
			SELECT id FROM (
				SELECT id, row_number() OVER newest AS n, sum(size) OVER newest AS bytes
				FROM prompts WINDOW newest AS (ORDER BY at DESC, id DESC ROWS UNBOUNDED PRECEDING)
			) WHERE n > ? OR bytes > ?)`, MaxPrompts, maxKept)
	if err != nil {
		return err
	}
	return tx.Commit()
}
