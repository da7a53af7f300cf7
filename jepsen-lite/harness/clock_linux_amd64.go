package harness

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// wallClock changes the wall clock of one process. A Go program reads the time from code that the
// kernel maps into every process (the vDSO). Neither a preloaded library nor a time namespace
// changes its wall clock. wallClock therefore changes that code in the memory of one running
// process. The first instruction of clock_gettime jumps to code in the unused end of the mapping.
// That code makes the system call and adds an offset to CLOCK_REALTIME. The program is the one that
// users run, and every part of it sees the same wrong time.
type wallClock struct {
	pid   int
	mem   *os.File
	entry int64  // the address of clock_gettime in the process
	was   []byte // the bytes that the jump replaced
	cell  int64  // the address of the offset, in nanoseconds

	mu   sync.Mutex
	stop chan struct{} // ends the goroutine that makes it drift
}

// hook is clock_gettime(edi: clock, rsi: result). It makes the system call and adds an offset if
// the clock is CLOCK_REALTIME. The offset is at hookCell.
var hook = []byte{
	0xb8, 0xe4, 0x00, 0x00, 0x00, // mov eax, 228
	0x0f, 0x05, // syscall
	0x85, 0xc0, // test eax, eax
	0x75, 0x35, // jne done
	0x85, 0xff, // test edi, edi
	0x75, 0x31, // jne done
	0x48, 0x8b, 0x05, 0x32, 0x00, 0x00, 0x00, // mov rax, [rip+offset]
	0x48, 0x99, // cqo
	0xb9, 0x00, 0xca, 0x9a, 0x3b, // mov ecx, 1000000000
	0x48, 0xf7, 0xf9, // idiv rcx: seconds in rax, nanoseconds in rdx
	0x48, 0x03, 0x56, 0x08, // add rdx, [rsi+8]
	0x79, 0x06, // jns positive
	0x48, 0x01, 0xca, // add rdx, rcx
	0x48, 0xff, 0xc8, // dec rax
	0x48, 0x39, 0xca, // positive: cmp rdx, rcx
	0x7c, 0x06, // jl store
	0x48, 0x29, 0xca, // sub rdx, rcx
	0x48, 0xff, 0xc0, // inc rax
	0x48, 0x01, 0x06, // store: add [rsi], rax
	0x48, 0x89, 0x56, 0x08, // mov [rsi+8], rdx
	0x31, 0xc0, // xor eax, eax
	0xc3, // done: ret
}

const (
	hookCell = 0x48
	hookSize = hookCell + 8
	jumpSize = 5
)

// mayClock checks this process's own mapping and changes nothing.
func mayClock() error {
	at, code, err := vdso(os.Getpid())
	if err == nil {
		_, _, err = places(at, code)
	}
	return err
}

var errNoVDSO = errors.New("the kernel maps no vDSO")

// vdso returns the address and the code of the vDSO of a process. A process that has just started
// may not have it yet.
func vdso(pid int) (at int64, code []byte, err error) {
	for end := time.Now().Add(2 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		at, code, err = vdsoNow(pid)
		if !errors.Is(err, errNoVDSO) || time.Now().After(end) {
			return at, code, err
		}
	}
}

func vdsoNow(pid int) (at int64, code []byte, err error) {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, nil, err
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if !strings.HasSuffix(lines.Text(), "[vdso]") {
			continue
		}
		var from, to int64
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x", &from, &to); err != nil {
			return 0, nil, fmt.Errorf("read /proc/%d/maps: %w", pid, err)
		}
		mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
		if err != nil {
			return 0, nil, err
		}
		defer mem.Close()
		code = make([]byte, to-from)
		_, err = mem.ReadAt(code, from)
		return from, code, err
	}
	return 0, nil, errNoVDSO
}

// places returns the addresses of clock_gettime and of the room for the hook.
func places(at int64, code []byte) (entry, room int64, err error) {
	f, err := elf.NewFile(bytes.NewReader(code))
	if err != nil {
		return 0, 0, fmt.Errorf("read the vDSO: %w", err)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return 0, 0, fmt.Errorf("read the vDSO: %w", err)
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			entry = at + int64(s.Value)
		}
	}
	room = int64(len(bytes.TrimRight(code, "\x00"))+64) &^ 15
	if at := bytes.Index(code, hook); at >= 0 {
		room = int64(at) // an earlier hook
	}
	if entry == 0 || int(room)+hookSize > len(code) {
		return 0, 0, errors.New("the kernel's vDSO has no clock_gettime, or no room behind it")
	}
	return entry, at + room, nil
}

// patchClock writes the hook into a process. stopped means that the process is already stopped.
func patchClock(pid int, stopped bool) (*wallClock, error) {
	at, code, err := vdso(pid)
	if err != nil {
		return nil, err
	}
	entry, room, err := places(at, code)
	if err != nil {
		return nil, err
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	c := &wallClock{pid: pid, mem: mem, entry: entry, cell: room + hookCell, was: bytes.Clone(code[entry-at:][:jumpSize])}
	if c.was[0] == 0xe9 { // the hook of an earlier run was not removed; its code is the same
		return nil, errors.Join(errors.New("its clock is moved already"), mem.Close())
	}
	jump := binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(int32(room-entry-jumpSize)))
	if _, err := mem.WriteAt(hook, room); err != nil {
		return nil, errors.Join(err, mem.Close())
	}
	if err := c.write(jump, stopped); err != nil {
		return nil, errors.Join(err, mem.Close())
	}
	return c, nil
}

// writeTries limits the attempts to find a moment at which no thread is within the instructions
// that change.
const writeTries = 200

// write changes the code at the entry while all threads are stopped and none is within it.
func (c *wallClock) write(b []byte, stopped bool) error {
	for range writeTries {
		if !stopped {
			if err := syscall.Kill(c.pid, syscall.SIGSTOP); err != nil {
				return err
			}
		}
		err := standStill(c.pid)
		clear := err == nil && !c.inPatch()
		if clear {
			_, err = c.mem.WriteAt(b, c.entry)
		}
		if !stopped {
			err = errors.Join(err, syscall.Kill(c.pid, syscall.SIGCONT))
		}
		if err != nil || clear {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return errors.New("a thread stands in clock_gettime all the time")
}

// inPatch reports whether a thread is behind the first byte of the instructions that change.
func (c *wallClock) inPatch() bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", c.pid)) // the pattern is good
	for _, name := range files {
		b, err := os.ReadFile(name)
		fields := strings.Fields(string(b))
		if err != nil || len(fields) < 3 {
			continue // the thread has ended
		}
		pc, err := strconv.ParseUint(strings.TrimPrefix(fields[len(fields)-1], "0x"), 16, 64)
		if err == nil && int64(pc) > c.entry && int64(pc) < c.entry+jumpSize {
			return true
		}
	}
	return false
}

// set sets the difference between the process's clock and the machine's.
func (c *wallClock) set(by time.Duration) error {
	_, err := c.mem.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(by)), c.cell)
	return err
}

// run sets the clock, and sets it again at intervals if it drifts.
func (c *wallClock) run(step time.Duration, drift int64, ended <-chan struct{}) error {
	c.halt()
	if err := c.set(step); err != nil || drift == 0 {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	stop := make(chan struct{})
	c.stop = stop
	go func() { // halt ends it, or the end of the process
		tick := time.NewTicker(clockStep)
		defer tick.Stop()
		for began := time.Now(); ; {
			select {
			case <-tick.C:
			case <-stop:
				return
			case <-ended:
				return
			}
			if c.set(step+time.Since(began)*time.Duration(drift)/1000) != nil {
				return // the process has ended
			}
		}
	}()
	return nil
}

func (c *wallClock) halt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		close(c.stop)
		c.stop = nil
	}
}

// restore removes the jump. The hook stays in memory, so threads that are in it return from it.
func (c *wallClock) restore(stopped bool) error {
	c.halt()
	return errors.Join(c.set(0), c.write(c.was, stopped), c.mem.Close())
}
