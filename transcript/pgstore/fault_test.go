package pgstore_test

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/burin-dev/burin/transcript/storetest"
)

// faulty is a connector whose connections meet faults at each statement, and at begin and
// commit.
type faulty struct {
	driver.Connector
	faults *storetest.Faults
}

func (f *faulty) Connect(ctx context.Context) (driver.Conn, error) {
	if n, err := f.faults.Call("connect", 1); n == 0 || err != nil {
		return nil, err
	}
	c, err := f.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &faultyConn{c.(full), f.faults}, nil
}

type full interface {
	driver.Conn
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.SessionResetter
	driver.Validator
}

type faultyConn struct {
	full
	faults *storetest.Faults
}

func (c *faultyConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	n, err := c.faults.Call("exec", 1)
	if n == 0 {
		return nil, err
	}
	res, rerr := c.full.ExecContext(ctx, query, args)
	return res, errors.Join(rerr, err)
}

// Of a query that fails afterwards all happens.
func (c *faultyConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	n, err := c.faults.Call("query", 1)
	if n == 0 {
		return nil, err
	}
	rows, rerr := c.full.QueryContext(ctx, query, args)
	if rerr == nil && err != nil {
		return nil, errors.Join(err, drain(rows))
	}
	return rows, rerr
}

func drain(rows driver.Rows) error {
	values := make([]driver.Value, len(rows.Columns()))
	for rows.Next(values) == nil {
		continue
	}
	return rows.Close()
}

func (c *faultyConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	n, err := c.faults.Call("begin", 1)
	if n == 0 {
		return nil, err
	}
	tx, terr := c.full.BeginTx(ctx, o)
	if terr != nil {
		return nil, terr
	}
	if err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return &faultyTx{tx, c.faults}, nil
}

type faultyTx struct {
	driver.Tx
	faults *storetest.Faults
}

func (t *faultyTx) Commit() error {
	n, err := t.faults.Call("commit", 1)
	if n == 0 {
		return errors.Join(err, t.Tx.Rollback())
	}
	return errors.Join(t.Tx.Commit(), err)
}
