package rmd.hadooptests;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs the test classes named after the file that takes the results: for each test a line with
 * PASS, FAIL or SKIP, its name, the milliseconds that it took and the first line of what went wrong.
 */
public final class Run implements TestExecutionListener {
  private static final AtomicInteger KILLED = new AtomicInteger();
  private final PrintWriter out;
  private final Map<String, Long> began = new ConcurrentHashMap<>();

  private Run(PrintWriter out) {
    this.out = out;
  }

  static void killed() {
    KILLED.incrementAndGet();
  }

  public static void main(String[] args) throws IOException, ClassNotFoundException {
    try (PrintWriter out = new PrintWriter(args[0], "UTF-8")) {
      LauncherDiscoveryRequestBuilder b = LauncherDiscoveryRequestBuilder.request();
      for (int i = 1; i < args.length; i++) {
        b.selectors(selectClass(Class.forName(args[i])));
      }
      LauncherDiscoveryRequest request = b.build();
      LauncherFactory.create().execute(request, new Run(out));
      out.println("KILLS\t" + KILLED.get());
      out.println("DONE");
    }
    System.exit(0); // what the tests left behind must not keep the JVM
  }

  @Override
  public void executionStarted(TestIdentifier id) {
    began.put(id.getUniqueId(), System.nanoTime());
    if (id.isTest()) {
      out.println("BEGIN\t" + name(id));
      out.flush();
    }
  }

  @Override
  public void executionSkipped(TestIdentifier id, String reason) {
    line("SKIP", id, reason);
  }

  @Override
  public void executionFinished(TestIdentifier id, TestExecutionResult result) {
    String what = result.getThrowable().map(Throwable::toString).orElse("");
    switch (result.getStatus()) {
      case SUCCESSFUL:
        if (id.isTest()) {
          line("PASS", id, what);
        }
        break;
      case ABORTED:
        line("SKIP", id, what);
        break;
      default:
        line("FAIL", id, what); // a container of tests fails when what prepares it does
        result.getThrowable().ifPresent(Throwable::printStackTrace);
    }
  }

  private static String name(TestIdentifier id) {
    String shown = id.getDisplayName().replace("()", "");
    MethodSource of = id.getSource().filter(s -> s instanceof MethodSource).map(s -> (MethodSource) s).orElse(null);
    if (of == null) {
      return shown;
    }
    String in = of.getClassName();
    // Of a test with parameters, JUnit 5 shows the parameters alone.
    return in.substring(in.lastIndexOf('.') + 1) + "#" + (shown.startsWith("[") ? of.getMethodName() : "") + shown;
  }

  private void line(String status, TestIdentifier id, String what) {
    long took = (System.nanoTime() - began.getOrDefault(id.getUniqueId(), System.nanoTime())) / 1_000_000;
    int end = what.indexOf('\n');
    out.println(status + "\t" + name(id) + "\t" + took + "\t" + (end < 0 ? what : what.substring(0, end)));
    out.flush();
  }
}
