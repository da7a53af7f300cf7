package rmd.interop;

import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Descriptors prints the protobuf files of Hadoop's protocols, one a line in base64, each after those
 * that it imports. args: the classes that protoc made of them; of A|B, the first that this version
 * of Hadoop has. It uses reflection only, because versions have different copies of the protobuf
 * library.
 */
public final class Descriptors {
  private final Map<String, Object> files = new LinkedHashMap<>();

  public static void main(String[] args) throws ReflectiveOperationException {
    Descriptors all = new Descriptors();
    for (String name : args) {
      all.add(firstOf(name.split("\\|")).getMethod("getDescriptor").invoke(null));
    }
    for (Object file : all.files.values()) {
      Object message = call(file, "toProto");
      System.out.println(Base64.getEncoder().encodeToString((byte[]) call(message, "toByteArray")));
    }
  }

  private static Class<?> firstOf(String[] names) throws ClassNotFoundException {
    for (int i = 0;; i++) {
      try {
        return Class.forName(names[i]);
      } catch (ClassNotFoundException e) {
        if (i == names.length - 1) {
          throw e;
        }
      }
    }
  }

  private void add(Object file) throws ReflectiveOperationException {
    for (Object imported : (List<?>) call(file, "getDependencies")) {
      add(imported);
    }
    files.putIfAbsent((String) call(file, "getName"), file);
  }

  private static Object call(Object on, String method) throws ReflectiveOperationException {
    return on.getClass().getMethod(method).invoke(on);
  }

  private Descriptors() {
  }
}
