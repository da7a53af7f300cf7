package rmd.interop;

import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.PrivilegedExceptionAction;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * Place submits unmanaged applications and prints their queues. args: a file. Each of its lines has
 * a user, the application's name, the queue that its client names, a tag and a priority ("-":
 * none), separated by tabs. For each, Place prints the application's queue and priority, or the
 * message of the refusal. It then kills the application, unless its name begins with "stay".
 */
public final class Place {
  public static void main(String[] args) throws Exception {
    for (String line : Files.readAllLines(Paths.get(args[0]))) {
      String[] w = line.split("\t");
      UserGroupInformation user = UserGroupInformation.createRemoteUser(w[0]);
      System.out.println(user.doAs((PrivilegedExceptionAction<String>) () -> place(w[1], w[2], w[3], w[4])));
    }
  }

  private static String place(String name, String queue, String tag, String priority) throws Exception {
    YarnClient client = YarnClient.createYarnClient();
    client.init(new YarnConfiguration());
    client.start();
    ApplicationSubmissionContext app = client.createApplication().getApplicationSubmissionContext();
    ApplicationId id = app.getApplicationId();
    try {
      app.setApplicationName(name);
      if (!queue.equals("-")) {
        app.setQueue(queue);
      }
      if (!tag.equals("-")) {
        Set<String> tags = new HashSet<>();
        tags.add(tag);
        app.setApplicationTags(tags);
      }
      app.setUnmanagedAM(true);
      app.setResource(Resource.newInstance(256, 1));
      if (!priority.equals("-")) {
        app.setPriority(Priority.newInstance(Integer.parseInt(priority)));
      }
      app.setAMContainerSpec(ContainerLaunchContext.newInstance(Collections.emptyMap(), Collections.emptyMap(),
          Collections.emptyList(), null, null, null));
      client.submitApplication(app);
      ApplicationReport report = client.getApplicationReport(id);
      String placed = report.getQueue() + " priority " + report.getPriority().getPriority();
      if (!name.startsWith("stay")) {
        client.killApplication(id);
      }
      return placed;
    } catch (Exception e) {
      return "refused: " + e.getMessage().replace(id.toString(), "APPLICATION").split("\n")[0];
    } finally {
      client.stop();
    }
  }

  private Place() {
  }
}
