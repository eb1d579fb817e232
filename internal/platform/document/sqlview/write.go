package sqlview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Write changes a row of the database at the path real. The selector is "table",
// which inserts, or "table:key", which updates or, with blank content, deletes.
// Content is an object in JSON5 whose members are columns; an empty one inserts a
// row of defaults. Values are texts, numbers, true, false (1 and 0) and null. The
// key is the primary key if that is one column, else the rowid.
//
// Foreign keys are enforced, with what they cascade. It says what it did; that
// no row has the key is no error.
func Write(ctx context.Context, real, selector, content string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	if strings.Contains(selector, "?") {
		return "", errors.New("writing to a database takes no parameters: give table or table:key")
	}
	if selector == "" {
		return "", errors.New("writing to a database needs a table, and a key to update or delete: db:table:key")
	}
	d, err := openWrite(ctx, real)
	if err != nil {
		return "", err
	}
	defer d.close()
	words, err := d.change(ctx, selector, content)
	return words, explain(ctx, err)
}

func (d *database) change(ctx context.Context, selector, content string) (string, error) {
	t, rest, err := d.table(ctx, selector)
	if err != nil {
		return "", err
	}
	key, keyed := strings.CutPrefix(rest, ":")
	if keyed && key == "" {
		return "", fmt.Errorf("the key is missing after %q", t.name+":")
	}
	if strings.TrimSpace(content) == "" {
		if !keyed {
			return "", errors.New("content is empty: to delete a row name it, as table:key")
		}
		return d.delete(ctx, t, key)
	}
	names, values, err := t.assignments(content)
	switch {
	case err != nil:
		return "", err
	case !keyed:
		return d.insert(ctx, t, names, values)
	case len(names) == 0:
		return "", errors.New("content names no column to update")
	}
	return d.update(ctx, t, key, names, values)
}

// assignments are the columns that content names, quoted, and their values.
func (t *table) assignments(content string) (names []string, values []any, err error) {
	members, err := parseObject(content)
	if err != nil {
		return nil, nil, fmt.Errorf("content must be a JSON object: %w", err)
	}
	for _, m := range members {
		name, ok := t.column(m.key)
		if !ok {
			return nil, nil, fmt.Errorf("%s has no column %q; it has %s", t.name, m.key, listing(t.columnNames()))
		}
		if slices.Contains(names, quote(name)) {
			return nil, nil, fmt.Errorf("column %q appears twice", m.key)
		}
		if m.nested {
			return nil, nil, fmt.Errorf("column %q: only texts, numbers, true, false and null can be stored; write an object as text", m.key)
		}
		names, values = append(names, quote(name)), append(values, m.value)
	}
	return names, values, nil
}

func (d *database) insert(ctx context.Context, t *table, names []string, values []any) (string, error) {
	q := "INSERT INTO " + quote(t.name) + " DEFAULT VALUES"
	if len(names) > 0 {
		q = fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)", quote(t.name), strings.Join(names, ", "), strings.Repeat(", ?", len(names)-1))
	}
	r, err := d.ExecContext(ctx, q, values...)
	if err != nil {
		return "", err
	}
	if id, err := r.LastInsertId(); err == nil && !t.withoutRowid {
		return fmt.Sprintf("Inserted a row into %s, rowid %d.", t.name, id), nil
	}
	return fmt.Sprintf("Inserted a row into %s.", t.name), nil
}

func (d *database) update(ctx context.Context, t *table, key string, names []string, values []any) (string, error) {
	set := strings.Join(names, " = ?, ") + " = ?"
	n, err := d.one(ctx, t, key, "UPDATE "+quote(t.name)+" SET "+set, values)
	if err != nil || n == 0 {
		return fmt.Sprintf("No row %q in %s; nothing was updated.", key, t.name), err
	}
	return fmt.Sprintf("Updated row %q in %s.", key, t.name), nil
}

func (d *database) delete(ctx context.Context, t *table, key string) (string, error) {
	n, err := d.one(ctx, t, key, "DELETE FROM "+quote(t.name), nil)
	if err != nil || n == 0 {
		return fmt.Sprintf("No row %q in %s; nothing was deleted.", key, t.name), err
	}
	return fmt.Sprintf("Deleted row %q from %s.", key, t.name), nil
}

// one carries out a change of the row with a key. If the key fits several rows,
// a number and a text that look alike, nothing is changed.
func (d *database) one(ctx context.Context, t *table, key, change string, values []any) (int64, error) {
	column, err := t.keyColumn()
	if err != nil {
		return 0, err
	}
	where, args := matchKey(column, key)
	tx, err := d.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	r, err := tx.ExecContext(ctx, change+" WHERE "+where, append(values, args...)...)
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	if err != nil {
		return 0, err
	}
	if n > 1 {
		return 0, fmt.Errorf("the key %q fits %d rows of %s; nothing was changed", key, n, t.name)
	}
	return n, tx.Commit()
}
