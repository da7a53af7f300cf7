package rmd.interop;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;

/**
 * Lines is a file that the Go side reads while it grows. Each line has the wall-clock time in
 * nanoseconds and words.
 */
final class Lines implements AutoCloseable {
  private final PrintWriter out;

  Lines(String path) throws IOException {
    out = new PrintWriter(Files.newBufferedWriter(Path.of(path), StandardCharsets.UTF_8,
        StandardOpenOption.CREATE, StandardOpenOption.APPEND), true);
  }

  /** now returns nanoseconds since 1970, from the clock that the Go side uses too. */
  static long now() {
    Instant t = Instant.now();
    return t.getEpochSecond() * 1_000_000_000L + t.getNano();
  }

  synchronized void say(long at, String format, Object... args) {
    out.println(at + " " + String.format(format, args));
  }

  void say(String format, Object... args) {
    say(now(), format, args);
  }

  @Override
  public void close() {
    out.close();
  }
}
