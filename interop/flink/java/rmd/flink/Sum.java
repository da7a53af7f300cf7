package rmd.flink;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * A streaming job that adds the numbers from 1 to COUNT, those of each remainder of KEYS apart, with a
 * checkpoint each second. After each number it appends a line "KEY SUM" to FOLDER/sums. A task that
 * starts appends a line "started" to FOLDER/tasks.
 *
 * <p>Arguments: FOLDER COUNT PER-SECOND.
 */
public final class Sum {
  private static final long KEYS = 4;

  private Sum() {}

  public static void main(String[] args) throws Exception {
    String folder = args[0];
    long count = Long.parseLong(args[1]);
    double perSecond = Double.parseDouble(args[2]);
    StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
    env.enableCheckpointing(1000);
    env.fromSource(
            new DataGeneratorSource<>(
                i -> i + 1, count, RateLimiterStrategy.perSecond(perSecond), Types.LONG),
            WatermarkStrategy.noWatermarks(),
            "numbers")
        .map(n -> new Part(n % KEYS, n))
        .keyBy(p -> p.key)
        .reduce((a, b) -> new Part(a.key, a.sum + b.sum))
        .map(new Recorder(folder))
        .sinkTo(new DiscardingSink<>());
    env.execute("sum");
  }

  /** The sum of some numbers with the same remainder. */
  public static final class Part {
    public long key;
    public long sum;

    public Part() {}

    Part(long key, long sum) {
      this.key = key;
      this.sum = sum;
    }
  }

  private static final class Recorder extends RichMapFunction<Part, Part> {
    private final String folder;

    Recorder(String folder) {
      this.folder = folder;
    }

    @Override
    public void open(OpenContext context) throws Exception {
      append("tasks", "started");
    }

    @Override
    public Part map(Part p) throws Exception {
      append("sums", p.key + " " + p.sum);
      return p;
    }

    private void append(String file, String line) throws Exception {
      Files.writeString(
          Path.of(folder, file),
          line + "\n",
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    }
  }
}
