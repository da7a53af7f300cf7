package rmd.interop;

import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.PrivilegedExceptionAction;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * Place submits unmanaged applications and says which queue each goes to. args: a file whose lines have a user, the
 * application's name, the queue that its client names ("-": none) and a tag ("-": none), with tabs between. For each it
 * prints the queue, or the message of the refusal.
 */
public final class Place {
  public static void main(String[] args) throws Exception {
    for (String line : Files.readAllLines(Paths.get(args[0]))) {
      String[] w = line.split("\t");
      UserGroupInformation user = UserGroupInformation.createRemoteUser(w[0]);
      System.out.println(user.doAs((PrivilegedExceptionAction<String>) () -> place(w[1], w[2], w[3])));
    }
  }

  private static String place(String name, String queue, String tag) throws Exception {
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
      app.setPriority(Priority.newInstance(0));
      app.setAMContainerSpec(ContainerLaunchContext.newInstance(Collections.emptyMap(), Collections.emptyMap(),
          Collections.emptyList(), null, null, null));
      client.submitApplication(app);
      String placed = client.getApplicationReport(id).getQueue();
      client.killApplication(id);
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
