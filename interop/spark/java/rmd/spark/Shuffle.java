package rmd.spark;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkConf;
import org.apache.spark.Success$;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import scala.Tuple2;

/**
 * A job whose reducers read the output of its maps twice: at once, and when the file FOLDER/go appears.
 * It writes FOLDER/mapped when the first reading is done, and FOLDER/result, a JSON document, at its end.
 *
 * <p>Arguments: FOLDER MAPS REDUCES MAP-MILLISECONDS REDUCE-MILLISECONDS.
 */
public final class Shuffle {
  private static final int KEYS = 10;

  private Shuffle() {}

  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[0]);
    int maps = Integer.parseInt(args[1]);
    int reduces = Integer.parseInt(args[2]);
    long mapMillis = Long.parseLong(args[3]);
    long reduceMillis = Long.parseLong(args[4]);
    Counts counts = new Counts();
    long sum;
    try (JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
      spark.sc().addSparkListener(counts);
      List<Integer> numbers = new ArrayList<>();
      for (int i = 1; i <= maps; i++) {
        numbers.add(i);
      }
      JavaPairRDD<Integer, Long> shuffled =
          spark
              .parallelize(numbers, maps)
              .mapToPair(
                  i -> {
                    Thread.sleep(mapMillis);
                    return new Tuple2<>(i % KEYS, (long) i);
                  })
              .reduceByKey(Long::sum, reduces);
      read(shuffled, 0);
      write(folder, "mapped", "");
      while (!Files.exists(folder.resolve("go"))) {
        Thread.sleep(100);
      }
      sum = read(shuffled, reduceMillis);
    }
    // the context is closed: the listener has heard of everything
    write(folder, "result", counts.json(sum));
  }

  private static long read(JavaPairRDD<Integer, Long> shuffled, long millis) {
    return shuffled
        .mapPartitions(
            part -> {
              Thread.sleep(millis);
              long sum = 0;
              while (part.hasNext()) {
                sum += part.next()._2();
              }
              return List.of(sum).iterator();
            })
        .reduce(Long::sum);
  }

  private static void write(Path folder, String name, String text) throws Exception {
    Path part = folder.resolve(name + ".part");
    Files.writeString(part, text);
    Files.move(part, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
  }

  /** What became of stages, tasks and executors. */
  private static final class Counts extends SparkListener {
    private final AtomicInteger stages = new AtomicInteger();
    private final AtomicInteger succeeded = new AtomicInteger();
    private final List<String> failures = new ArrayList<>();
    private final List<String> removed = new ArrayList<>();

    @Override
    public void onStageSubmitted(SparkListenerStageSubmitted e) {
      stages.incrementAndGet();
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd e) {
      if (e.reason() == Success$.MODULE$) {
        succeeded.incrementAndGet();
      } else {
        String reason = e.reason().toString();
        failures.add(reason.substring(0, Math.min(reason.length(), 200)));
      }
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved e) {
      removed.add(e.reason());
    }

    String json(long sum) {
      return "{\"sum\": " + sum + ", \"stages\": " + stages + ", \"succeeded\": " + succeeded
          + ", \"failures\": " + list(failures) + ", \"removed\": " + list(removed) + "}\n";
    }

    private static String list(List<String> texts) {
      StringBuilder s = new StringBuilder("[");
      for (String t : texts) {
        s.append(s.length() > 1 ? ", \"" : "\"").append(t.replaceAll("[\\\\\"\\p{Cntrl}]", " ")).append('"');
      }
      return s.append(']').toString();
    }
  }
}
