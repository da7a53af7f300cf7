package rmd.interop;

import java.lang.reflect.Field;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AppSchedulingInfo;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.allocator.TwinAllocator;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.AppPlacementAllocator;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/** TwinPlaces implements rmd's differences about the hosts and racks in asks. */
final class TwinPlaces {
  private static final Field ALLOCATOR = field(FiCaSchedulerApp.class, "containerAllocator");
  private static final Field VISITS = field(SchedulerApplicationAttempt.class, "schedulingOpportunities");
  private static final Field PLACEMENTS = field(AppSchedulingInfo.class, "schedulerKeyToAppPlacementAllocator");

  private final Twin twin;
  /**
   * strict has the strict asks of each attempt after the last step, by key and place. It must be new
   * for each history: Hadoop compares attempts by id, and the next history has the same ids.
   */
  private final Map<FiCaSchedulerApp, Set<String>> strict = new HashMap<>();

  TwinPlaces(Twin twin) {
    this.twin = twin;
  }

  /** before gives an application rmd's allocator. */
  void before(FiCaSchedulerApp app) throws IllegalAccessException {
    if (!(ALLOCATOR.get(app) instanceof TwinAllocator)) {
      ALLOCATOR.set(app, new TwinAllocator(app, twin.cs.getResourceCalculator(), twin.context, twin::intended, twin::givesUpOn));
    }
  }

  /**
   * cameBack relaxes the locality of asks that came back, as rmd does: those of containers that
   * were lost before their AM knew of them.
   */
  @SuppressWarnings("unchecked")
  void cameBack(FiCaSchedulerApp app, boolean asked) throws IllegalAccessException {
    Map<SchedulerRequestKey, AppPlacementAllocator<?>> placements =
        (Map<SchedulerRequestKey, AppPlacementAllocator<?>>) PLACEMENTS.get(app.getAppSchedulingInfo());
    Set<String> now = new HashSet<>();
    Set<String> before = strict.get(app);
    for (Map.Entry<SchedulerRequestKey, AppPlacementAllocator<?>> e : placements.entrySet()) {
      for (ResourceRequest r : e.getValue().getResourceRequests().values()) {
        String entry = e.getKey() + " " + r.getResourceName();
        if (!asked && before != null && !before.contains(entry) && !r.getRelaxLocality()) {
          r.setRelaxLocality(true);
          twin.intended("came back relaxed");
        }
        if (!r.getRelaxLocality()) {
          now.add(entry);
        }
      }
    }
    strict.put(app, now);
  }

  /**
   * after removes what rmd does not keep: asks for hosts and racks with count 0, the asks of a key
   * that is used up, and the count of visits of a key without hosts and racks.
   */
  @SuppressWarnings("unchecked")
  void after(FiCaSchedulerApp app) throws IllegalAccessException {
    Map<SchedulerRequestKey, AppPlacementAllocator<?>> placements =
        (Map<SchedulerRequestKey, AppPlacementAllocator<?>>) PLACEMENTS.get(app.getAppSchedulingInfo());
    for (SchedulerRequestKey key : new TreeSet<>(placements.keySet())) {
      Map<String, ResourceRequest> asked = placements.get(key).getResourceRequests();
      if (asked.entrySet().removeIf(e -> !e.getKey().equals(ResourceRequest.ANY) && e.getValue().getNumContainers() <= 0)) {
        twin.intended("entry of 0");
      }
      ResourceRequest any = asked.get(ResourceRequest.ANY);
      for (ResourceRequest r : asked.values()) {
        if (any != null && !r.getCapability().equals(any.getCapability())) {
          r.setCapability(any.getCapability());
          twin.intended("one size");
        }
      }
      if (any == null) {
        placements.remove(key);
        twin.intended("key asked again");
      }
    }
    for (SchedulerRequestKey key : new TreeSet<>(((Collection<SchedulerRequestKey>) VISITS.get(app)))) {
      if (!placements.containsKey(key) || placements.get(key).getUniqueLocationAsks() <= 1) {
        app.resetSchedulingOpportunities(key);
        twin.intended("visits of `*` alone");
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
