// Command guest prints everything that normally depends on the machine: the order of maps, of ready
// select cases and of goroutines, random numbers, and how far the clock has advanced.
package main

import (
	crand "crypto/rand"
	"fmt"
	"math/rand"
	"os"
	"sync"
	"time"
)

func main() {
	begin := time.Now()
	if len(os.Args) > 1 && os.Args[1] == "forever" {
		for n := 0; time.Since(begin) < 1<<62; n++ {
			if n < 0 {
				return
			}
		}
	}
	m := map[int]bool{}
	for i := range 20 {
		m[i] = true
	}
	for k := range m {
		fmt.Print(k, " ")
	}
	a, b := make(chan int, 20), make(chan int, 20)
	for i := range 20 {
		a <- i
		b <- -i
	}
	for range 20 {
		select {
		case v := <-a:
			fmt.Print(v, " ")
		case v := <-b:
			fmt.Print(v, " ")
		}
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			time.Sleep(time.Duration(rand.Intn(3)) * time.Millisecond)
			fmt.Print(i, " ")
		})
	}
	wg.Wait()
	x := make([]byte, 8)
	_, err := crand.Read(x)
	fmt.Println(rand.Int63(), x, err, os.Getenv("WORD"), time.Since(begin), begin.UTC())
	if os.Getenv("WORD") == "bad" {
		os.Exit(3)
	}
}
