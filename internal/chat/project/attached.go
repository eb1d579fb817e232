package project

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
)

// ChatAttachments are the files that were attached to a chat.
type ChatAttachments struct {
	Chat     string    `json:"chat"`
	Project  string    `json:"project"`
	Title    string    `json:"title,omitempty"`
	Modified time.Time `json:"modified"`
	// Temporary and Unreadable are as in a chat.
	Temporary  bool         `json:"temporary,omitempty"`
	Unreadable string       `json:"unreadable,omitempty"`
	Files      []Attachment `json:"files"` // the first one first, 1000 at most
}

// AttachedSum is how many files there are, and how large they are together. One that several chats have counts once.
type AttachedSum struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// AllAttachments are the files that a person attached to chats, without those of chats in the trash.
type AllAttachments struct {
	Chats  []ChatAttachments `json:"chats"`           // the last used first
	After  string            `json:"after,omitempty"` // where the next part of the list begins; missing: it ends here
	Sum    AttachedSum       `json:"sum"`             // of all, also where this is a part of the list
	Unused AttachedSum       `json:"unused"`          // those that no message has
}

// A part of the list has at most so many chats, and ends with the chat with which it has so many files.
const (
	maxAttachedChats = 100
	maxAttached      = 500
)

// OfAll lists the files that a person attached to chats, by chat. after is "", or where an earlier part of the list ended.
func (a *Attachments) OfAll(ctx context.Context, person, after string) (AllAttachments, error) {
	all := AllAttachments{Chats: []ChatAttachments{}}
	before, id := int64(1)<<62, ""
	if after != "" {
		at, chat, ok := strings.Cut(after, "-")
		n, err := strconv.ParseInt(at, 10, 64)
		if err != nil || !ok {
			return all, invalid("after: not from an earlier answer: %.40q", after)
		}
		before, id = n, chat
	}
	chats, err := a.chats(ctx, person, before, id)
	if err != nil {
		return all, fmt.Errorf("list the attachments: %w", err)
	}
	listed := 0
	for i, c := range chats {
		files, err := a.list(ctx, person, c.ID, "")
		if err != nil {
			return all, fmt.Errorf("list the attachments of a chat: %w", err)
		}
		all.Chats = append(all.Chats, ChatAttachments{c.ID, c.Project, c.Title, c.Modified, c.Temporary, c.Unreadable, files})
		if listed += len(files); i+1 == maxAttachedChats || i+1 < len(chats) && listed >= maxAttached {
			all.After = strconv.FormatInt(millis(c.Modified), 10) + "-" + c.ID
			break
		}
	}
	if all.Sum, err = a.sum(ctx, person, false); err == nil {
		all.Unused, err = a.sum(ctx, person, true)
	}
	return all, err
}

// notTrashed is true of a chat that is not in the trash, nor in a project there, whoever's that is.
const notTrashed = `trashed = 0 AND ` + inProject

// chats are those with attachments, the last used first, from one of them on.
func (a *Attachments) chats(ctx context.Context, person string, before int64, id string) ([]Chat, error) {
	ring, err := a.store.keys.Ring(ctx, person)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.db.Query(ctx, `SELECT `+chatColumns+` FROM {chats} WHERE person = ?1 AND `+notTrashed+`
		AND id IN (SELECT chat FROM {chat_pieces} WHERE person = ?1 AND length(sealed) > 0) AND (modified < ?2 OR modified = ?2 AND id > ?3)
		ORDER BY modified DESC, id LIMIT ?4`, person, before, id, maxAttachedChats)
	if err != nil {
		return nil, err
	}
	return scanChats(rows, ring)
}

// sum counts the files of a person, or those that no message has. A file lies there once, also if several chats have it.
func (a *Attachments) sum(ctx context.Context, person string, unused bool) (sum AttachedSum, err error) {
	err = a.store.db.QueryRow(ctx, `SELECT count(*), CAST(coalesce(sum(size), 0) AS BIGINT) FROM {pieces} WHERE person = ?1 AND id IN (
		SELECT piece FROM {chat_pieces} WHERE person = ?1 AND length(sealed) > 0 AND chat IN (SELECT id FROM {chats} WHERE person = ?1 AND `+notTrashed+`)
		GROUP BY piece HAVING ?2 = 0 OR max(used) = 0)`, person, count(unused)).Scan(&sum.Files, &sum.Bytes)
	if err != nil {
		err = fmt.Errorf("count the attachments: %w", err)
	}
	return sum, err
}

// RemoveUnused removes the files that no message has from the chats of a person that are not in the trash, and says how
// many there were.
func (a *Attachments) RemoveUnused(ctx context.Context, person string) (removed AttachedSum, err error) {
	if removed, err = a.sum(ctx, person, true); err != nil {
		return removed, err
	}
	err = a.store.db.Update(ctx, func(q store.Querier) error {
		rows, err := q.Query(ctx, `DELETE FROM {chat_pieces} WHERE person = ?1 AND used = 0 AND length(sealed) > 0
			AND chat IN (SELECT id FROM {chats} WHERE person = ?1 AND `+notTrashed+`) RETURNING piece`, person)
		if err != nil {
			return err
		}
		ids, err := scanIDs(rows)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := a.store.pieces.Release(ctx, q, person, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return AttachedSum{}, fmt.Errorf("remove attachments that no message has: %w", err)
	}
	return removed, nil
}
