package pgstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/burin-dev/burin/internal/prose"
)

// What a server can be like. Every error that comes from there, or from the way there, is one
// of these or has the words of the server.
var (
	// ErrUnreachable means that no server takes a connection.
	ErrUnreachable = errors.New("can't reach the PostgreSQL server")
	// ErrLost means that the connection broke, or that the server doesn't answer any more.
	ErrLost = errors.New("lost the connection to the PostgreSQL server")
	// ErrPassword means that the server doesn't take the password, or wants one.
	ErrPassword = errors.New("the PostgreSQL server doesn't accept the password: set PGPASSWORD, or add a line to ~/.pgpass")
	// ErrNoTLS means that the server has no TLS, which an address asks for unless it says
	// something else.
	ErrNoTLS = errors.New("the PostgreSQL server has no TLS: add ?sslmode=disable to the address if nobody else can listen on the way")
)

// state is the SQLSTATE of an error; "" if it is none of the server's.
func state(err error) pqerror.Code {
	if e, ok := errors.AsType[*pq.Error](err); ok {
		return e.Code
	}
	return ""
}

// away are the states of a server that ends, starts, takes no more connections, or has ended one, or a call, whose
// process was stopped meanwhile.
func away(code pqerror.Code) bool {
	return strings.HasPrefix(string(code), "08") || strings.HasPrefix(string(code), "57P") || code == pqerror.TooManyConnections || code == pqerror.IdleInTransactionSessionTimeout || code == pqerror.QueryCanceled
}

// lost reports whether another connection may have better luck. A process that was stopped for longer than
// a call may take reads that its transaction has ended.
func lost(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	_, network := errors.AsType[net.Error](err)
	return network || away(state(err)) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// Means is an error with what it means for whoever wants the session.
func Means(err error) error {
	for _, known := range []error{nil, ErrUnreachable, ErrLost, ErrPassword, ErrNoTLS, ErrTakenOver} {
		if errors.Is(err, known) {
			return err
		}
	}
	if e, ok := errors.AsType[*pq.Error](err); ok {
		return said(e)
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		return fmt.Errorf("%w: %w", ErrUnreachable, e.Err)
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("%w: %s: %s", ErrUnreachable, e.Name, e.Err)
	}
	switch {
	case errors.Is(err, pq.ErrSSLNotSupported):
		return ErrNoTLS
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, sql.ErrTxDone):
		return ErrLost // there is nothing more in it
	case lost(err):
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return err
}

// said is what the server has said, and what to do about it.
func said(e *pq.Error) error {
	words := prose.Line(e.Message)
	switch {
	case e.Code == pqerror.InvalidPassword:
		return ErrPassword
	case e.Code == pqerror.InvalidCatalogName:
		return fmt.Errorf("%s: create it with createdb", words)
	case e.Code == pqerror.InsufficientPrivilege:
		return fmt.Errorf("%s: the role needs the right to create the schema burin once, and its tables later", words)
	case e.Code == pqerror.ReadOnlySQLTransaction, strings.Contains(words, "during recovery"):
		return fmt.Errorf("%s: the server is a copy that only reads: give the address of the primary", words)
	case away(e.Code):
		return fmt.Errorf("%w: %s", ErrLost, words)
	}
	return &refused{fmt.Sprintf("PostgreSQL: %s (%s)", words, e.Code), e}
}

// refused is what a server has said, in our words.
type refused struct {
	words string
	err   *pq.Error
}

func (r *refused) Error() string { return r.words }
func (r *refused) Unwrap() error { return r.err }
