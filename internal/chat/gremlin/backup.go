package gremlin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

var (
	// ErrEmpty means that there is nothing of a key.
	ErrEmpty = errors.New("there is nothing of this key")
	// ErrBackup means that a file is no backup.
	ErrBackup = errors.New("not a backup of GremlinOFA")
)

const (
	batchRows   = 100      // rows of a transaction
	batchSize   = 8 << 20  // bytes of one, and one row at least
	largestHeld = 32 << 20 // bytes that wait for the first record that shows whether the key is right
	keyTries    = 10       // records that a right key may fail to open, if none before opened
	maxErrors   = 100      // errors of an import that are kept
)

// Exported are the figures of an export.
type Exported struct {
	Rows int
	Left int // default definitions without credentials, which every installation has
}

// Export writes a backup of the rows of a key, with the lists of models if they are asked for. Nothing
// is decrypted but the default definitions. If there are no rows it writes nothing; the error is
// [ErrEmpty].
func (r *Records) Export(ctx context.Context, to io.Writer, key *Key, models bool) (e Exported, err error) {
	tenant := r.tenant(key.Tenant())
	w := bufio.NewWriterSize(to, 64<<10)
	for _, table := range tables {
		if table == modelsCache && !models {
			continue
		}
		for after := ""; ; {
			some, err := r.after(ctx, tenant, table, after, exportRows)
			if err != nil {
				return e, fmt.Errorf("read %s: %w", table, err)
			}
			if len(some) == 0 {
				break
			}
			last := after
			err = r.read(ctx, some, func(w1 *row) (bool, error) {
				last = w1.ID
				if table == definitions && strings.HasPrefix(w1.ID, "api_default") && !hasCredentials(key, w1.EncryptedData) {
					e.Left++
					return true, nil
				}
				if e.Rows++; e.Rows == 1 {
					_ = writeRow(w, header...) // the last write says whether all were good
				}
				return true, writeRow(w, table, w1.ID, w1.EncryptedData, text(w1.Timestamp), text(w1.ParentID), text(w1.UnencryptedData))
			})
			if err != nil {
				return e, fmt.Errorf("export %s: %w", table, err)
			}
			if last == after {
				break // all that were found have gone
			}
			after = last
		}
	}
	if e.Rows+e.Left == 0 {
		return e, ErrEmpty
	}
	if e.Rows == 0 {
		_ = writeRow(w, header...) // the same
	}
	return e, w.Flush()
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// hasCredentials reports whether a definition has a key or an address that isn't a default. One that
// can't be read has none that are of use.
func hasCredentials(key *Key, record string) bool {
	has, err := credentials(key, record)
	return err == nil && has
}

func credentials(key *Key, record string) (bool, error) {
	plain, err := key.open(record)
	if err == nil {
		plain, err = inflate(plain)
	}
	if err != nil {
		return false, err
	}
	var of struct{ APIKey, BaseURL string }
	if err := json.Unmarshal(plain, &of); err != nil {
		return false, err
	}
	return of.APIKey != "" || of.BaseURL != "" && of.BaseURL != "https://api.x.ai/v1", nil
}

// Imported are the figures of an import.
type Imported struct {
	Rows      int // that were not there
	Replaced  int // definitions that had no credentials before
	Skipped   int // that were there, or are no rows
	Damaged   int // that were compressed and then encrypted as text: nobody can read them again
	Unopened  int // that the key doesn't open, and are as they were in the backup
	Errors    []string
	NotListed int // errors that are too many for Errors
}

// Import reads a backup that was made with a key, from, into the rows of the key to. If they are the
// same key the rows are stored byte for byte, else each record is encrypted again, as the bytes it
// consists of. Rows that are there stay, except for definitions without credentials; so a backup can be
// imported again after something went wrong. The error is [ErrKey] if from is the key of another backup:
// nothing was written then.
func (r *Records) Import(ctx context.Context, in io.Reader, from, to *Key) (Imported, error) {
	m := &importing{r: r, from: from, to: to, same: from.Is(to), tenant: r.tenant(to.Tenant())}
	rows, err := newReader(in)
	if err != nil {
		return m.Imported, err
	}
	first, err := rows.next()
	switch {
	case errors.Is(err, io.EOF):
		return m.Imported, fmt.Errorf("%w: it is empty", ErrBackup)
	case err != nil:
		return m.Imported, err
	case !slices.Equal(first, header):
		return m.Imported, fmt.Errorf("%w: its first line isn't %s", ErrBackup, strings.Join(header, ","))
	}
	for {
		fields, err := rows.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = m.take(ctx, fields)
		}
		if err != nil {
			return m.Imported, err
		}
	}
	if m.tried > 0 && m.opened == 0 {
		return m.Imported, ErrKey
	}
	return m.Imported, m.flush(ctx)
}

// importing is an import under way.
type importing struct {
	Imported
	r        *Records
	from, to *Key
	same     bool
	tenant   any

	tried, opened int // records
	batch         []waiting
	size          int // bytes of the batch
}

// waiting is a row of a batch.
type waiting struct {
	table   string
	replace bool
	row     row
}

// take takes a row of the backup.
func (m *importing) take(ctx context.Context, fields []string) error {
	if len(fields) < len(header) {
		m.Skipped++
		return nil
	}
	n := waiting{table: fields[0], row: row{fields[1], fields[2], optional(fields[3]), optional(fields[4]), optional(fields[5])}}
	switch {
	case !isTable(n.table):
		m.wrong(&n, errors.New("no table of GremlinOFA"))
		return nil
	case n.row.ID == "" || n.row.EncryptedData == "":
		m.wrong(&n, errors.New("no id, or no data"))
		return nil
	case !m.r.fits(&n.row):
		m.wrong(&n, errLong)
		return nil
	}
	if n.row.EncryptedData != metadata {
		if keep, err := m.reopen(&n); !keep || err != nil {
			return err
		}
	}
	if n.table == definitions {
		there, err := m.r.get(ctx, m.tenant, n.table, n.row.ID)
		if err != nil {
			return err
		}
		if there != nil {
			// One that can't be read stays: it isn't known to be empty.
			if has, err := credentials(m.to, there.EncryptedData); has || err != nil || !hasCredentials(m.to, n.row.EncryptedData) {
				m.Skipped++
				return nil
			}
			n.replace = true
		}
	}
	m.batch = append(m.batch, n)
	m.size += n.row.size()
	known := m.opened > 0 || m.size > largestHeld
	if known && (len(m.batch) >= batchRows || m.size > batchSize) {
		return m.flush(ctx)
	}
	return nil
}

// reopen opens the record of a row and encrypts it for the other key; false: it can't be imported.
func (m *importing) reopen(n *waiting) (bool, error) {
	m.tried++
	plain, err := m.from.open(n.row.EncryptedData)
	switch {
	case err != nil && m.opened == 0 && m.tried >= keyTries:
		return false, ErrKey
	case err != nil && m.same:
		m.Unopened++
		return true, nil
	case err != nil:
		m.wrong(n, err)
		return false, nil
	}
	m.opened++
	if destroyed(plain) {
		m.Damaged++
	}
	if !m.same {
		n.row.EncryptedData = m.to.seal(plain)
	}
	return true, nil
}

func (m *importing) wrong(n *waiting, err error) {
	if len(m.Errors) == maxErrors {
		m.NotListed++
		return
	}
	m.Errors = append(m.Errors, fmt.Sprintf("%s/%s: %v", prose.Row(n.table, 100), prose.Row(n.row.ID, 100), err))
}

// flush writes the batch, the rows of each table in one transaction.
func (m *importing) flush(ctx context.Context) error {
	for batch := m.batch; len(batch) > 0; {
		var rows []row
		first := batch[0]
		for len(batch) > 0 && batch[0].table == first.table && batch[0].replace == first.replace {
			rows, batch = append(rows, batch[0].row), batch[1:]
		}
		saved, err := m.r.saveAll(ctx, m.tenant, first.table, rows, !first.replace)
		if err != nil {
			return fmt.Errorf("write rows of %s: %w; import the file again to go on", first.table, err)
		}
		if first.replace {
			m.Replaced += saved
			continue
		}
		m.Rows += saved
		m.Skipped += len(rows) - saved
	}
	clear(m.batch) // the records need not stay in memory
	m.batch, m.size = m.batch[:0], 0
	return nil
}
