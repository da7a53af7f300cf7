package rmd.interop;

import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * Submit submits one application, prints its id and exits as soon as it is accepted. args: NAME
 * QUEUE MB ATTEMPTS COMMAND. COMMAND runs in the ApplicationMaster's container. Behind Kerberos the
 * application gets a token of the file system, which the ResourceManager is to renew.
 */
public final class Submit {
  public static void main(String[] args) throws Exception {
    YarnClient client = YarnClient.createYarnClient();
    Configuration conf = new YarnConfiguration();
    client.init(conf);
    client.start();
    ApplicationSubmissionContext app = client.createApplication().getApplicationSubmissionContext();
    Map<String, String> env = new HashMap<>();
    ContainerLaunchContext launch = ContainerLaunchContext.newInstance(Collections.emptyMap(), env,
        Collections.singletonList(args[4] + " 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"), null,
        UserGroupInformation.isSecurityEnabled() ? tokens(conf) : null, null);
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

  private static ByteBuffer tokens(Configuration conf) throws Exception {
    Credentials credentials = new Credentials();
    FileSystem.get(conf).addDelegationTokens(conf.get(YarnConfiguration.RM_PRINCIPAL), credentials);
    DataOutputBuffer out = new DataOutputBuffer();
    credentials.writeTokenStorageToStream(out);
    return ByteBuffer.wrap(out.getData(), 0, out.getLength());
  }

  private Submit() {
  }
}
