package org.apache.hadoop.metrics2.lib;

import java.lang.reflect.Field;
import java.util.function.Supplier;
import org.apache.hadoop.metrics2.impl.MsInfo;
import org.apache.hadoop.yarn.api.records.Resource;

/**
 * TwinGauge has a parent queue reserve what it has reserved of the label of the node that is offered. In YARN the metrics say
 * it, and they know of nodes without a label alone. It is in Hadoop's package, for the constructors are open to that alone.
 */
public final class TwinGauge {
  private TwinGauge() {
  }

  /** Memory is the gauge of reserved memory. */
  public static final class Memory extends MutableGaugeLong {
    private final Supplier<Resource> there;

    private Memory(long was, Supplier<Resource> there) {
      super(MsInfo.ProcessName, was);
      this.there = there;
    }

    public static void install(Object metrics, Field field, Supplier<Resource> there) throws IllegalAccessException {
      field.set(metrics, new Memory(((MutableGaugeLong) field.get(metrics)).value(), there));
    }

    @Override
    public long value() {
      Resource r = there == null ? null : there.get();
      return r == null ? super.value() : r.getMemorySize();
    }
  }

  /** Vcores is the gauge of reserved vcores. */
  public static final class Vcores extends MutableGaugeInt {
    private final Supplier<Resource> there;

    private Vcores(int was, Supplier<Resource> there) {
      super(MsInfo.ProcessName, was);
      this.there = there;
    }

    public static void install(Object metrics, Field field, Supplier<Resource> there) throws IllegalAccessException {
      field.set(metrics, new Vcores(((MutableGaugeInt) field.get(metrics)).value(), there));
    }

    @Override
    public int value() {
      Resource r = there == null ? null : there.get();
      return r == null ? super.value() : r.getVirtualCores();
    }
  }
}
