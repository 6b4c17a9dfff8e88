package main

import "github.com/spf13/cobra"

func newVerify() *cobra.Command { return &cobra.Command{Use: "verify"} }
