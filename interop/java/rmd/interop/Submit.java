package rmd.interop;

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * Submit submits one application, prints its id and exits as soon as it is accepted. args: NAME
 * QUEUE MB ATTEMPTS COMMAND. COMMAND runs in the ApplicationMaster's container.
 */
public final class Submit {
  public static void main(String[] args) throws Exception {
    YarnClient client = YarnClient.createYarnClient();
    client.init(new YarnConfiguration());
    client.start();
    ApplicationSubmissionContext app = client.createApplication().getApplicationSubmissionContext();
    Map<String, String> env = new HashMap<>();
    ContainerLaunchContext launch = ContainerLaunchContext.newInstance(Collections.emptyMap(), env,
        Collections.singletonList(args[4] + " 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"), null, null, null);
    app.setApplicationName(args[0]);
    app.setQueue(args[1]);
    app.setResource(Resource.newInstance(Long.parseLong(args[2]), 1));
    app.setMaxAppAttempts(Integer.parseInt(args[3]));
    app.setPriority(Priority.newInstance(0));
    app.setAMContainerSpec(launch);
    client.submitApplication(app);
    System.out.println(app.getApplicationId());
    client.stop();
  }

  private Submit() {
  }
}
