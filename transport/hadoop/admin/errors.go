package admin

import (
	"fmt"

	"rmd/transport/hadoop/ipc"
)

const (
	classService = "org.apache.hadoop.ha.ServiceFailedException"
	classHealth  = "org.apache.hadoop.ha.HealthCheckFailedException"
)

// ioException is what AdminService makes of an IOException: a YarnException
// whose text begins with the other's name.
func ioException(format string, args ...any) error {
	return &ipc.Error{Class: ipc.ClassYarn, Message: "java.io.IOException: " + fmt.Sprintf(format, args...)}
}

func yarnException(format string, args ...any) error {
	return &ipc.Error{Class: ipc.ClassYarn, Message: fmt.Sprintf(format, args...)}
}
