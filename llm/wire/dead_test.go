package wire_test

import (
	"context"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// blindDecoder takes any answer for an empty one.
type blindDecoder struct{}

func (blindDecoder) Decode(wire.Frame, *llm.Builder) error { return nil }
func (blindDecoder) End(b *llm.Builder)                    { b.Done(llm.StopEnd) }

// An HTTP/2 connection that died without a word is found by pings: the request
// after the one that met it gets a new connection.
func TestDeadConnection(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "data: {}\n\n")
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	ln, _ := net.Listen("tcp", "127.0.0.1:0")
	defer ln.Close()
	var conns atomic.Int32
	var dead sync.Map
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			n := conns.Add(1)
			up, _ := net.Dial("tcp", srv.Listener.Addr().String())
			pipe := func(a, b net.Conn) {
				buf := make([]byte, 4096)
				for {
					k, err := a.Read(buf)
					if err != nil {
						return
					}
					if _, gone := dead.Load(n); !gone {
						b.Write(buf[:k])
					}
				}
			}
			go pipe(c, up)
			go pipe(up, c)
		}
	}()
	pemText := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
	client, err := wire.NewClient(wire.ClientOptions{ExtraCA: pemText})
	if err != nil {
		t.Fatal(err)
	}
	h2 := client.Transport.(*http.Transport).HTTP2
	h2.SendPingTimeout /= 15
	h2.PingTimeout /= 10 // a second each, in which a living connection answers on any machine
	e := &wire.Endpoint{Client: client, FirstEvent: time.Minute}
	run := func() error {
		req := &llm.Request{}
		_, err := llm.Collect(e.Stream(context.Background(), wire.Call{Request: req, Decoder: blindDecoder{}, Build: func(ctx context.Context) (*http.Request, error) {
			return e.NewRequest(ctx, req, "https://"+ln.Addr().String(), "/x", []byte("{}"), nil)
		}}))
		return err
	}
	if err := run(); err != nil {
		t.Fatal(err)
	}
	dead.Store(conns.Load(), true)
	_ = run() // this one may fail: it is how the death is found
	if err := run(); err != nil {
		t.Errorf("a retry goes to the dead connection again: %v, %d connections", err, conns.Load())
	}
	if err := run(); err != nil {
		t.Errorf("a retry goes to the dead connection again: %v, %d connections", err, conns.Load())
	}
}
