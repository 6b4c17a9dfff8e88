package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate/server/daemon"
)

// server is a server started by this run.
type server struct {
	address string
	bus     int // port of the Cluster bus
	command *exec.Cmd
	end     func() // set if the server runs in this process
	dir     string
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

// redisProgram and valkeyProgram are the names of the servers' programs.
const redisProgram, valkeyProgram = "redis-server", "valkey-server"

// startRedis starts a Redis without persistence and waits until it responds.
func startRedis(ctx context.Context, more ...string) (*server, error) {
	return startProgram(ctx, redisProgram, more...)
}

// startProgram is like startRedis, but for any server with the same protocol.
func startProgram(ctx context.Context, program string, more ...string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "headgate-bench")
	if err != nil {
		return nil, err
	}
	s := &server{address: fmt.Sprintf("127.0.0.1:%d", port), dir: dir}
	args := []string{"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir, "--maxclients", "2000"}
	s.command = exec.CommandContext(ctx, program, append(args, more...)...)
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	client := redis.NewClient(&redis.Options{Addr: s.address})
	defer func() { _ = client.Close() }()
	for range 100 {
		if err = client.Ping(ctx).Err(); err == nil {
			return s, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.stop()
	return nil, err
}

func startSeveral(ctx context.Context, n int) ([]*server, error) {
	return startPrograms(ctx, redisProgram, n)
}

func startPrograms(ctx context.Context, program string, n int) (servers []*server, err error) {
	for range n {
		s, err := startProgram(ctx, program)
		if err != nil {
			stopAll(servers)
			return nil, err
		}
		servers = append(servers, s)
	}
	return servers, nil
}

func stopAll(servers []*server) {
	for _, s := range servers {
		s.stop()
	}
}

func (s *server) stop() {
	if s.end != nil {
		s.end()
		return
	}
	_ = s.command.Process.Kill()
	_ = s.command.Wait()
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// inside starts a server in this process, so that it can be profiled. The function address selects the listener whose
// address the contenders use.
func inside(ctx context.Context, c daemon.Config, address func(*daemon.Daemon) net.Addr) (*server, error) {
	ctx, cancel := context.WithCancel(ctx)
	c.StoreOptions, c.Logger = prefetching, slog.New(slog.DiscardHandler)
	d, err := daemon.New(ctx, c)
	if err != nil {
		cancel()
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = d.Run(ctx, ctx)
	}()
	return &server{address: address(d).String(), end: func() {
		cancel()
		<-ended
	}}, nil
}

// startHeadgate starts bin/headgate with a store. If profiles are taken, the server runs in this process instead.
func startHeadgate(ctx context.Context, store string, s settings) (*server, error) {
	if s.profiles != nil {
		return inside(ctx, daemon.Config{RESP: "127.0.0.1:0", HTTP: daemon.Off, Store: store, Deadline: time.Second}, (*daemon.Daemon).RESPAddr)
	}
	return startPrinting(exec.CommandContext(ctx, "../../bin/headgate", "serve", "--store", store, "--resp", "127.0.0.1:0", "--http", "off", "--deadline", "1s"))
}

// startPrinting starts a server that prints its address.
func startPrinting(command *exec.Cmd) (*server, error) {
	s := &server{command: command}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("%s (make build): %w", command.Path, err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("%s: %w", command.Path, err)
	}
	_, s.address, _ = strings.Cut(strings.TrimSpace(line), " listening on ")
	return s, nil
}
