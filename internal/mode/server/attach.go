package server

import (
	"context"
	"net/http"

	"github.com/coder/websocket"

	"github.com/burin-dev/burin/internal/host/chats"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

// attach serves the protocol of package remote on a WebSocket.
func (s *Server) attach(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if _, err := s.handle(r, id); err != nil { // before the connection is another's
		failed(w, err)
		return
	}
	leave, ok := s.enter(w)
	if !ok {
		return
	}
	defer leave()
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // it was answered
	}
	ws.SetReadLimit(-1) // the protocol has limits of its own
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	conn := websocket.NetConn(ctx, ws, websocket.MessageText)
	_ = remote.Serve(ctx, conn, remote.ServeOptions{Most: rights(r), Open: func(name string, answers bool) session.Handle {
		h, err := s.o.Face(ctx, sender(r), id, chats.Visit{Name: name, Answers: answers, Watches: r.URL.Query().Get("watching") != "false"})
		if err != nil {
			return nil
		}
		return h
	}, Told: func(err error) error {
		if !broken(statusOf(err)) {
			return err
		}
		if s.o.Log != nil && r.Context().Err() == nil {
			s.o.Log.Error("attach", "session", id, "error", err.Error())
		}
		return session.ErrServer
	}}) // who is wrong is cut off
}
