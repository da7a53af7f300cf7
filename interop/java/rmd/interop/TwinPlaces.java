package rmd.interop;

import java.lang.reflect.Field;
import java.util.Collection;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AppSchedulingInfo;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.allocator.TwinAllocator;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.AppPlacementAllocator;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/** TwinPlaces does what rmd does otherwise about the hosts and racks that applications ask for. */
final class TwinPlaces {
  private static final Field ALLOCATOR = field(FiCaSchedulerApp.class, "containerAllocator");
  private static final Field VISITS = field(SchedulerApplicationAttempt.class, "schedulingOpportunities");
  private static final Field PLACEMENTS = field(AppSchedulingInfo.class, "schedulerKeyToAppPlacementAllocator");

  private TwinPlaces() {
  }

  /** before gives an application rmd's allocator. */
  static void before(CapacityScheduler cs, FiCaSchedulerApp app, Consumer<String> intended) throws IllegalAccessException {
    if (!(ALLOCATOR.get(app) instanceof TwinAllocator)) {
      ALLOCATOR.set(app, new TwinAllocator(app, cs.getResourceCalculator(), cs.getRMContext(), intended));
    }
  }

  /**
   * after forgets what rmd forgets: hosts and racks that are set to 0, what was asked under a key that is used up, and the
   * count of visits of a key that names no place.
   */
  @SuppressWarnings("unchecked")
  static void after(FiCaSchedulerApp app, Consumer<String> intended) throws IllegalAccessException {
    Map<SchedulerRequestKey, AppPlacementAllocator<?>> placements =
        (Map<SchedulerRequestKey, AppPlacementAllocator<?>>) PLACEMENTS.get(app.getAppSchedulingInfo());
    for (SchedulerRequestKey key : new TreeSet<>(placements.keySet())) {
      Map<String, ResourceRequest> asked = placements.get(key).getResourceRequests();
      if (asked.entrySet().removeIf(e -> !e.getKey().equals(ResourceRequest.ANY) && e.getValue().getNumContainers() <= 0)) {
        intended.accept("entry-of-0");
      }
      ResourceRequest any = asked.get(ResourceRequest.ANY);
      for (ResourceRequest r : asked.values()) {
        if (any != null && !r.getCapability().equals(any.getCapability())) {
          r.setCapability(any.getCapability());
          intended.accept("one-size");
        }
      }
      if (any == null) {
        placements.remove(key);
        intended.accept("key-asked-again");
      }
    }
    for (SchedulerRequestKey key : new TreeSet<>(((Collection<SchedulerRequestKey>) VISITS.get(app)))) {
      if (!placements.containsKey(key) || placements.get(key).getUniqueLocationAsks() <= 1) {
        app.resetSchedulingOpportunities(key);
        intended.accept("visits-without-places");
      }
    }
  }

  private static Field field(Class<?> c, String name) {
    try {
      Field f = c.getDeclaredField(name);
      f.setAccessible(true);
      return f;
    } catch (NoSuchFieldException e) {
      throw new IllegalStateException(e);
    }
  }
}
