package daemon

import (
	"github.com/headgate/headgate/pressure"
	"github.com/headgate/headgate/server/metrics"
)

// openPressure starts watching CPU time and memory if Config.Pressure is set.
func (d *Daemon) openPressure() (err error) {
	if !d.config.Pressure {
		return nil
	}
	if d.pressure, err = pressure.New(pressure.Config{Changed: d.pressed}); err != nil {
		return err
	}
	for _, missing := range d.pressure.Missing() {
		d.config.Logger.Warn("pressure signal missing", "signal", missing)
	}
	return nil
}

// pressed logs a new level of pressure.
func (d *Daemon) pressed(level int, signals []pressure.Signal) {
	attributes := []any{"level", level, "of", pressure.Full}
	for _, s := range signals {
		attributes = append(attributes, s.Name, s.Value)
	}
	d.config.Logger.Info("pressure: lower classes must leave more of their limits", attributes...)
}

// pressureLevel returns a function that returns the level of pressure. If Config.Pressure is not set, it returns nil.
func (d *Daemon) pressureLevel() func() int {
	if d.pressure == nil {
		return nil
	}
	return d.pressure.Level
}

func (d *Daemon) pressureMetrics() *metrics.Pressure {
	if d.pressure == nil {
		return nil
	}
	return &metrics.Pressure{Gate: d.pressure}
}

func (d *Daemon) closePressure() {
	if d.pressure != nil {
		d.pressure.Close()
	}
}
