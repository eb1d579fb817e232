// Command burin-private is the loop of private projects for browsers: GOOS=js GOARCH=wasm. The
// worker in internal/mode/server/private loads it.
package main

import (
	"encoding/json"
	"net/http"
	"syscall/js"

	"github.com/burin-dev/burin/internal/mode/private"
)

func main() {
	self := js.Global()
	post := self.Get("burinPost")
	loop := private.New(self.Get("location").Get("origin").String(), http.DefaultClient, func(r private.Reply) {
		text, err := json.Marshal(r)
		if err != nil { // what can't be told must not leave the page waiting
			text, _ = json.Marshal(private.Reply{ID: r.ID, Status: http.StatusInternalServerError, Body: private.Problem{Status: http.StatusInternalServerError, Detail: err.Error()}})
		}
		post.Invoke(string(text))
	})
	self.Get("burinReady").Invoke(js.FuncOf(func(_ js.Value, args []js.Value) any {
		var r private.Request
		if err := json.Unmarshal([]byte(args[0].String()), &r); err == nil { // a page of our own sends nothing else
			loop.Take(r)
		}
		return nil
	}))
	select {}
}
