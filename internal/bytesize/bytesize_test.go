package bytesize

import "testing"

func TestFormat(t *testing.T) {
	for bytes, want := range map[any]string{0: "0 B", 512: "512 B", int64(1024): "1 KiB", 11 << 20: "11 MiB",
		43_200_000: "41.2 MiB", 500 << 20: "500 MiB", uint64(3 << 29): "1.5 GiB", uint64(1 << 63): "8 EiB"} {
		if got := Format(bytes); got != want {
			t.Errorf("%d: %s, want %s", bytes, got, want)
		}
	}
}
