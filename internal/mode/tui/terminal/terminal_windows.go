package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// state is what the console was set to.
type state struct{ in, out uint32 }

func open() (in, out *os.File, err error) {
	if in, err = os.OpenFile("CONIN$", os.O_RDWR, 0); err != nil {
		return nil, nil, ErrNone
	}
	if out, err = os.OpenFile("CONOUT$", os.O_RDWR, 0); err != nil {
		_ = in.Close()
		return nil, nil, ErrNone
	}
	return in, out, nil
}

func makeRaw(input, output *os.File) (*state, error) {
	var s state
	in, out := windows.Handle(input.Fd()), windows.Handle(output.Fd())
	if err := windows.GetConsoleMode(in, &s.in); err != nil {
		return nil, err
	}
	if err := windows.GetConsoleMode(out, &s.out); err != nil {
		return nil, err
	}
	raw := s.in&^(windows.ENABLE_ECHO_INPUT|windows.ENABLE_LINE_INPUT|windows.ENABLE_PROCESSED_INPUT) | windows.ENABLE_VIRTUAL_TERMINAL_INPUT
	if err := windows.SetConsoleMode(in, raw); err != nil {
		return nil, err
	}
	vt := s.out | windows.ENABLE_PROCESSED_OUTPUT | windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING
	if err := windows.SetConsoleMode(out, vt); err != nil {
		return nil, err
	}
	return &s, nil
}

func restore(in, out *os.File, to *state) {
	_ = windows.SetConsoleMode(windows.Handle(in.Fd()), to.in)
	_ = windows.SetConsoleMode(windows.Handle(out.Fd()), to.out)
}

func size(out *os.File) (width, height int, err error) {
	var info windows.ConsoleScreenBufferInfo
	if err := windows.GetConsoleScreenBufferInfo(windows.Handle(out.Fd()), &info); err != nil {
		return 0, 0, err
	}
	return int(info.Window.Right-info.Window.Left) + 1, int(info.Window.Bottom-info.Window.Top) + 1, nil
}

func foreground(*os.File) bool { return true }

// rawOutput: a console changes nothing of what is written.
func rawOutput(*os.File) error { return nil }

// waiting is 0: consoles keep keys, not what they once meant.
func waiting(*os.File) int { return 0 }
