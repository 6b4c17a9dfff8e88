module github.com/headgate/headgate/dashboard

go 1.26.0

require github.com/headgate/headgate v0.0.0

replace github.com/headgate/headgate => ../
