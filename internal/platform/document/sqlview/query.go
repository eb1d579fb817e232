package sqlview

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

const (
	maxTables  = 500
	sampleRows = 5
	maxCounted = 1_000_000 // rows of a table that are counted
	cellBytes  = 1000      // characters of a value that a table needs
	rowBytes   = 20_000    // characters of a value when one row is shown
	maxResult  = 4 << 20   // bytes of all values of a result
)

// Query reads the database at the path real. The selector is one of
//
//	""                                        all tables and views, with their numbers of rows
//	"table"                                   its schema and the first rows
//	"table:key"                               a row, by the primary key or else the rowid
//	"table?limit=&offset=&order=&where="      rows; order is a column, with "desc" if need be
//	"?q=SELECT …"                             the result of a query that reads
//
// It has 10 seconds. At most 500 rows are shown.
func Query(ctx context.Context, real, selector string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	d, err := openRead(ctx, real)
	if err != nil {
		return "", explain(ctx, err)
	}
	defer d.close()
	text, err := d.show(ctx, selector)
	return text, explain(ctx, err)
}

func (d *database) show(ctx context.Context, selector string) (string, error) {
	if selector == "" {
		return d.tables(ctx)
	}
	if rest, ok := strings.CutPrefix(selector, "?"); ok {
		q, ok := strings.CutPrefix(rest, "q=")
		if !ok {
			return "", errors.New("a table must stand before the parameters, or q=SELECT … after the question mark")
		}
		return d.query(ctx, unescapeQuery(q))
	}
	t, rest, err := d.table(ctx, selector)
	switch {
	case err != nil:
		return "", err
	case rest == "":
		return d.describe(ctx, t)
	case rest[0] == ':':
		return d.row(ctx, t, rest[1:])
	}
	p, err := parseParams(rest[1:])
	if err != nil {
		return "", err
	}
	return d.rows(ctx, t, p)
}

// unescapeQuery is unescape for a query, which as a form would have it has plus
// signs for spaces.
func unescapeQuery(q string) string {
	if !strings.ContainsAny(q, " \t\n") {
		q = strings.ReplaceAll(q, "+", " ")
		q = unescape(strings.ReplaceAll(q, " ", "%20"))
	}
	return q
}

// table is a table or a view.
type table struct {
	name, kind, schema string
	columns            []column
	withoutRowid       bool
}

type column struct {
	name string
	key  int // its place in the primary key, from 1; 0: none
}

func (t *table) column(name string) (string, bool) {
	for _, c := range t.columns {
		if strings.EqualFold(c.name, name) {
			return c.name, true
		}
	}
	return "", false
}

// names are the tables and views that the database has.
func (d *database) names(ctx context.Context) (names, kinds []string, err error) {
	rows, err := d.QueryContext(ctx, `SELECT name, type FROM sqlite_schema
		WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name LIMIT ?`, maxTables+1)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, kind string
		if err := rows.Scan(&name, &kind); err != nil {
			return nil, nil, err
		}
		names, kinds = append(names, name), append(kinds, kind)
	}
	return names, kinds, rows.Err()
}

func (d *database) tables(ctx context.Context) (string, error) {
	names, kinds, err := d.names(ctx)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "The database has no tables.", nil
	}
	more := ""
	if len(names) > maxTables {
		names, more = names[:maxTables], fmt.Sprintf("\n[more than %d tables; the others are not listed]", maxTables)
	}
	g := grid{head: []string{"table", "kind", "rows"}}
	for i, name := range names {
		n, err := d.count(ctx, name)
		if err != nil {
			if ctx.Err() != nil {
				return "", err
			}
			n = "?" // a view that is broken, or a module that is missing
		}
		g.rows = append(g.rows, []string{name, kinds[i], n})
	}
	return g.String() + more, nil
}

func (d *database) count(ctx context.Context, name string) (string, error) {
	var n int
	q := fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM %s LIMIT %d)", quote(name), maxCounted+1)
	if err := d.QueryRowContext(ctx, q).Scan(&n); err != nil {
		return "", err
	}
	if n > maxCounted {
		return fmt.Sprintf("> %d", maxCounted), nil
	}
	return fmt.Sprint(n), nil
}

// table finds the table that a selector begins with. Of several the longest
// counts, because names may hold colons.
func (d *database) table(ctx context.Context, selector string) (*table, string, error) {
	names, _, err := d.names(ctx)
	if err != nil {
		return nil, "", err
	}
	best := ""
	for _, name := range names {
		if len(name) <= len(selector) && strings.EqualFold(selector[:len(name)], name) && len(name) > len(best) &&
			(len(name) == len(selector) || selector[len(name)] == ':' || selector[len(name)] == '?') {
			best = name
		}
	}
	if best == "" {
		asked, _, _ := strings.Cut(selector, ":")
		asked, _, _ = strings.Cut(asked, "?")
		return nil, "", fmt.Errorf("no table %q; there are: %s", asked, listing(names))
	}
	t := &table{name: best}
	var schema sql.NullString
	err = d.QueryRowContext(ctx, "SELECT type, sql FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ?", best).
		Scan(&t.kind, &schema)
	if err != nil {
		return nil, "", err
	}
	t.schema = schema.String
	return t, selector[len(best):], d.columns(ctx, t)
}

func (d *database) columns(ctx context.Context, t *table) error {
	rows, err := d.QueryContext(ctx, "SELECT name, pk FROM pragma_table_info(?)", t.name)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c column
		if err := rows.Scan(&c.name, &c.key); err != nil {
			return err
		}
		t.columns = append(t.columns, c)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return d.QueryRowContext(ctx, "SELECT coalesce(max(wr), 0) FROM pragma_table_list(?) WHERE schema = 'main'", t.name).
		Scan(&t.withoutRowid)
}

// listing is a list of names for an error, cut where it is long.
func listing(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	more := ""
	if len(names) > 20 {
		names, more = names[:20], ", …"
	}
	return strings.Join(names, ", ") + more
}

func (d *database) describe(ctx context.Context, t *table) (string, error) {
	n, err := d.count(ctx, t.name)
	if err != nil {
		return "", err
	}
	g, _, err := d.read(ctx, t, params{limit: sampleRows})
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s\n\n%s rows", t.schema, n)
	if len(g.rows) > 0 {
		text += fmt.Sprintf("; the first %d:\n\n%s", len(g.rows), g)
	}
	return text, nil
}

func (d *database) rows(ctx context.Context, t *table, p params) (string, error) {
	g, more, err := d.read(ctx, t, p)
	if err != nil {
		return "", err
	}
	if len(g.rows) == 0 {
		return "No rows.", nil
	}
	text := g.String()
	if more {
		text += fmt.Sprintf("\n[rows %d to %d; more with offset=%d]", p.offset+1, p.offset+len(g.rows), p.offset+len(g.rows))
	}
	return text, nil
}

// read reads rows of a table. More says that others follow.
func (d *database) read(ctx context.Context, t *table, p params) (g grid, more bool, err error) {
	q := "SELECT " + t.values(cellBytes) + " FROM " + quote(t.name)
	if p.where != "" {
		q += " WHERE (" + p.where + ")"
	}
	if p.order != "" {
		order, err := t.order(p.order)
		if err != nil {
			return grid{}, false, err
		}
		q += " ORDER BY " + order
	}
	q += fmt.Sprintf(" LIMIT %d OFFSET %d", p.limit+1, p.offset)
	g, err = d.result(ctx, q, nil, p.limit+1)
	if len(g.rows) > p.limit {
		g.rows, more = g.rows[:p.limit], true
	}
	return g, more, err
}

// values are the columns as what is shown of them: of long texts the beginning,
// of blobs their size. As expressions they also have no declared type, which the
// driver would make times of.
func (t *table) values(limit int) string {
	list := make([]string, len(t.columns))
	for i, c := range t.columns {
		q := quote(c.name)
		list[i] = fmt.Sprintf("CASE typeof(%[1]s) WHEN 'blob' THEN '<blob, ' || length(%[1]s) || ' bytes>' WHEN 'text' THEN substr(%[1]s, 1, %[2]d) ELSE %[1]s END AS %[1]s", q, limit)
	}
	return strings.Join(list, ", ")
}

// order makes a clause of what a model wrote: columns, each with a direction.
func (t *table) order(s string) (string, error) {
	var list []string
	for part := range strings.SplitSeq(s, ",") {
		name, direction := strings.TrimSpace(part), ""
		if rest, ok := strings.CutPrefix(name, "-"); ok {
			name, direction = rest, " DESC"
		}
		for _, end := range []string{" desc", ":desc", " asc", ":asc"} {
			if n := len(name) - len(end); n > 0 && strings.EqualFold(name[n:], end) {
				name, direction = strings.TrimSpace(name[:n]), " "+strings.ToUpper(end[1:])
			}
		}
		column, ok := t.column(strings.Trim(name, "\"`"))
		if !ok {
			return "", fmt.Errorf("cannot order by %q: %s has no such column; it has %s", name, t.name, listing(t.columnNames()))
		}
		list = append(list, quote(column)+direction)
	}
	return strings.Join(list, ", "), nil
}

func (t *table) columnNames() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return names
}

// keyColumn is what a key is compared with: the primary key if it is one column,
// else the rowid.
func (t *table) keyColumn() (string, error) {
	if t.kind == "view" {
		return "", fmt.Errorf("%s is a view; its rows have no key", t.name)
	}
	var keys []string
	for _, c := range t.columns {
		if c.key > 0 {
			keys = append(keys, c.name)
		}
	}
	switch {
	case len(keys) == 1:
		return quote(keys[0]), nil
	case t.withoutRowid:
		return "", fmt.Errorf("%s has a primary key of %d columns and no rowid; use where", t.name, len(keys))
	}
	for _, alias := range []string{"rowid", "_rowid_", "oid"} {
		if _, taken := t.column(alias); !taken {
			return alias, nil
		}
	}
	return "", fmt.Errorf("%s has no key by which a row can be named; use where", t.name)
}

func (d *database) row(ctx context.Context, t *table, key string) (string, error) {
	if key == "" {
		return "", fmt.Errorf("the key is missing after %q", t.name+":")
	}
	column, err := t.keyColumn()
	if err != nil {
		return "", err
	}
	where, args := matchKey(column, key)
	g, err := d.result(ctx, "SELECT "+t.values(rowBytes)+" FROM "+quote(t.name)+" WHERE "+where+" LIMIT 1", args, 1)
	if err != nil {
		return "", err
	}
	if len(g.rows) == 0 {
		return "", fmt.Errorf("%s has no row %q", t.name, key)
	}
	return g.vertical(), nil
}

// query runs a query that a model wrote.
func (d *database) query(ctx context.Context, q string) (string, error) {
	if err := checkQuery(q); err != nil {
		return "", err
	}
	g, err := d.result(ctx, q, nil, maxRows+1)
	if err != nil {
		return "", err
	}
	switch {
	case len(g.rows) == 0:
		return "No rows.", nil
	case len(g.rows) > maxRows:
		g.rows = g.rows[:maxRows]
		return g.String() + fmt.Sprintf("\n[the first %d rows; the others are not shown]", maxRows), nil
	}
	return g.String(), nil
}

// result runs a query and takes at most limit rows.
func (d *database) result(ctx context.Context, q string, args []any, limit int) (grid, error) {
	rows, err := d.QueryContext(ctx, q, args...)
	if err != nil {
		return grid{}, err
	}
	defer rows.Close()
	var g grid
	if g.head, err = rows.Columns(); err != nil {
		return grid{}, err
	}
	total := 0
	for len(g.rows) < limit && rows.Next() {
		values := make([]any, len(g.head))
		into := make([]any, len(values))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return grid{}, err
		}
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = prose.Clip(show(v), rowBytes)
			total += len(row[i])
		}
		if g.rows = append(g.rows, row); total > maxResult {
			return grid{}, fmt.Errorf("the result has more than %d MB: ask for fewer columns or rows", maxResult>>20)
		}
	}
	return g, rows.Err()
}

// matchKey compares a column with a key. A column without a type keeps what was
// put in, so a key that is a number is looked for as both.
func matchKey(column, key string) (where string, args []any) {
	where, args = column+" = ?", []any{key}
	if n, ok := wholeNumber(key); ok {
		where, args = column+" IN (?, ?)", []any{key, n}
	}
	return where, args
}

func wholeNumber(s string) (int64, bool) {
	var n int64
	_, err := fmt.Sscanf(s, "%d", &n)
	return n, err == nil && fmt.Sprint(n) == s
}
