package ipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

// Address gives the address of what has that identity: the name of a pipe, which is the
// user's own. The data folder and the environment don't count here.
func Address(identity, _ string, _ func(string) string) (string, error) {
	user, err := userOf(windows.GetCurrentProcessToken())
	if err != nil {
		return "", err
	}
	return pipes + prefix + hash(user+"\x00"+identity), nil
}

const (
	pipes  = `\\.\pipe\`
	prefix = "burin-"
)

// Lasting is [Address]: pipes live as long as their process.
func Lasting(identity, data string) (string, error) { return Address(identity, data, nil) }

// HasLasting is false: there is one address.
func HasLasting(string, string) (string, bool) { return "", false }

// List returns the addresses at which somebody listens; some may belong to other users. Wine
// can't list pipes: there are none.
func List(string, func(string) string) (found []string, err error) {
	pattern, err := windows.UTF16PtrFromString(pipes + "*")
	if err != nil {
		return nil, err
	}
	var one windows.Win32finddata
	h, err := windows.FindFirstFile(pattern, &one)
	for ; err == nil; err = windows.FindNextFile(h, &one) {
		if name := windows.UTF16ToString(one.FileName[:]); strings.HasPrefix(name, prefix) {
			found = append(found, pipes+name)
		}
	}
	if h != windows.InvalidHandle {
		_ = windows.FindClose(h) // it was only read
	}
	if !errors.Is(err, windows.ERROR_NO_MORE_FILES) && !errors.Is(err, windows.ERROR_FILE_NOT_FOUND) && !errors.Is(err, windows.ERROR_BAD_DEV_TYPE) {
		return nil, fmt.Errorf("list the pipes: %w", err)
	}
	return found, nil
}

// Folders are none: pipes are in no folder that can be watched.
func Folders(string, func(string) string) []string { return nil }

// Listen listens at an address. It fails if any other process has a pipe of that name:
// the library asks for the first instance and refuses clients on other machines.
func Listen(address string) (*Listener, error) {
	user, err := userOf(windows.GetCurrentProcessToken())
	if err != nil {
		return nil, err
	}
	l, err := winio.ListenPipe(address, &winio.PipeConfig{
		SecurityDescriptor: fmt.Sprintf("O:%sD:P(D;;GA;;;NU)(A;;GA;;;%s)", user, user), // nobody from the network; the user everything
		InputBufferSize:    64 << 10,
		OutputBufferSize:   64 << 10,
	})
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return &Listener{net: l, remove: func() error { return nil }, closed: make(chan struct{})}, nil
}

// Dial connects to who listens at an address. The error is [ErrAbsent] if nobody does,
// and says so if it is another user.
func Dial(ctx context.Context, address string) (net.Conn, error) {
	c, err := winio.DialPipeContext(ctx, address) // anonymous: the other side can't act as the user
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("connect to %s: %w", address, ErrAbsent)
	}
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if _, err := Peer(c); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, errors.Join(err, c.Close()))
	}
	return c, nil
}

func userOf(token windows.Token) (string, error) {
	user, err := token.GetTokenUser()
	if err != nil {
		return "", fmt.Errorf("find the user: %w", err)
	}
	return user.User.Sid.String(), nil
}
