module github.com/headgate/headgate/conform

go 1.26

require github.com/headgate/headgate v0.0.0

replace github.com/headgate/headgate => ../
