package rmd.interop;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Permission;
import java.util.Arrays;
import java.util.Base64;

/**
 * Batch runs many of Hadoop's commands, unchanged, in one JVM, because most of the time of a
 * command is the start of its JVM. args: FILE SECONDS. Each line of FILE has a main class and its
 * arguments, separated by tabs. For each, Batch prints one line: the exit code, and the standard
 * output and error in base64.
 */
public final class Batch {
  /** Exit is thrown when a command calls System.exit. */
  private static final class Exit extends SecurityException {
    final int code;

    Exit(int code) {
      super("exit " + code);
      this.code = code;
    }
  }

  @SuppressWarnings({"deprecation", "removal"})
  private static final class NoExit extends SecurityManager {
    volatile boolean over;

    @Override
    public void checkExit(int code) {
      if (!over) {
        throw new Exit(code);
      }
    }

    @Override
    public void checkPermission(Permission any) {
    }
  }

  /** Run is one command on its own thread, so that a command that hangs can be abandoned. */
  private static final class Run extends Thread {
    private final String[] words;
    volatile int code;

    Run(String[] words) {
      this.words = words;
      setDaemon(true);
    }

    @Override
    public void run() {
      try {
        String[] args = Arrays.copyOfRange(words, 1, words.length);
        Class.forName(words[0]).getMethod("main", String[].class).invoke(null, (Object) args);
      } catch (InvocationTargetException e) {
        code = exitCode(e.getCause());
      } catch (ReflectiveOperationException e) {
        code = exitCode(e);
      }
    }

    /**
     * exitCode returns what a JVM does when main throws: it prints a stack trace and exits with 1.
     */
    private static int exitCode(Throwable e) {
      if (e instanceof Exit) {
        return ((Exit) e).code;
      }
      e.printStackTrace();
      return 1;
    }
  }

  @SuppressWarnings({"deprecation", "removal"})
  public static void main(String[] args) throws Exception {
    long millis = Long.parseLong(args[1]) * 1000;
    PrintStream answers = System.out;
    System.setIn(new ByteArrayInputStream(new byte[0]));
    NoExit guard = new NoExit();
    System.setSecurityManager(guard);
    for (String line : Files.readAllLines(Path.of(args[0]), StandardCharsets.UTF_8)) {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      ByteArrayOutputStream err = new ByteArrayOutputStream();
      System.setOut(new PrintStream(out, true, "UTF-8"));
      System.setErr(new PrintStream(err, true, "UTF-8"));
      Run run = new Run(line.split("\t", -1));
      run.start();
      run.join(millis);
      int code = run.isAlive() ? 124 : run.code;
      Base64.Encoder base64 = Base64.getEncoder();
      answers.println(code + " " + base64.encodeToString(out.toByteArray()) + " " + base64.encodeToString(err.toByteArray()));
      answers.flush();
    }
    guard.over = true;
    Runtime.getRuntime().halt(0);
  }

  private Batch() {
  }
}
