package org.apache.hadoop.metrics2.lib;

import java.lang.reflect.Field;
import java.util.function.Supplier;
import org.apache.hadoop.metrics2.impl.MsInfo;
import org.apache.hadoop.yarn.api.records.Resource;

/**
 * TwinGauge makes the reserved resources of a parent queue those with the label of the offered
 * node. YARN reads them from the metrics, which count only nodes without a label. The class is in
 * Hadoop's package because the constructors are package-private.
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
