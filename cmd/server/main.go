// Command server is Chumbo's HTTP service.
//
//	server                 serve; configuration comes from CHUMBO_* variables
//	server -with-worker    serve, and run the worker in the same process
//	server -demo           everything on this machine, with a stand-in project
//	server migrate         bring the database to this version
//	server bootstrap -email E -organization O
//	                       make the first owner and print an API token once
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker in releases.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}
