package sqlfile

import (
	"context"
	"database/sql/driver"
	"time"
)

// connector gives connections whose writers take turns. SQLite lets one write at a time, and has
// others sleep and look again for up to a tenth of a second: with many writers in a process nobody
// would get far.
type connector struct {
	driver.Connector
	turn chan struct{} // holds a value while a connection writes
	wait time.Duration // after which a connection asks SQLite without its turn
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	all, ok := inner.(connection)
	if !ok {
		return inner, nil
	}
	return &conn{all, c, false}, nil
}

// take waits for the turn, and returns what gives it on.
func (c *connector) take(ctx context.Context) (leave func(), err error) {
	late := time.NewTimer(c.wait)
	defer late.Stop()
	select {
	case c.turn <- struct{}{}:
		return func() { <-c.turn }, nil
	case <-late.C: // somebody holds it for long; what that means is SQLite's to say
		return func() {}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// connection is what the driver's connections can do.
type connection interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type conn struct {
	connection
	c  *connector
	in bool // a transaction
}

// BeginTx implements [driver.ConnBeginTx].
func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	leave := func() {}
	if !o.ReadOnly {
		var err error
		if leave, err = c.c.take(ctx); err != nil {
			return nil, err
		}
	}
	inner, err := c.connection.BeginTx(ctx, o)
	if err != nil {
		leave()
		return nil, err
	}
	c.in = true
	return &tx{inner, c, leave}, nil
}

// ExecContext implements [driver.ExecerContext].
func (c *conn) ExecContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Result, error) {
	if !c.in {
		leave, err := c.c.take(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	return c.connection.ExecContext(ctx, statement, args)
}

type tx struct {
	driver.Tx
	conn  *conn
	leave func()
}

func (t *tx) end(how func() error) error {
	defer t.leave()
	t.conn.in = false
	return how()
}

// Commit implements [driver.Tx].
func (t *tx) Commit() error { return t.end(t.Tx.Commit) }

// Rollback implements [driver.Tx].
func (t *tx) Rollback() error { return t.end(t.Tx.Rollback) }
