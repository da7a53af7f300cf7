import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.HashMap;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.ipc.Server;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.SecretManager;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.security.token.TokenIdentifier;
import org.apache.hadoop.yarn.api.ApplicationClientProtocol;
import org.apache.hadoop.yarn.api.ApplicationMasterProtocol;
import org.apache.hadoop.yarn.api.ContainerManagementProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.GetApplicationReportRequest;
import org.apache.hadoop.yarn.api.protocolrecords.GetContainerStatusesResponse;
import org.apache.hadoop.yarn.api.protocolrecords.GetNewApplicationRequest;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.ipc.YarnRPC;
import org.apache.hadoop.yarn.security.NMTokenIdentifier;

/**
 * Probe is the Java side of TestWithHadoop. First, Hadoop's client calls the ports in the arguments
 * (SIMPLE; TOKEN and SIMPLE; TOKEN) and prints one line per call with its result. Then Hadoop's
 * server, which accepts only tokens, serves until the end of the standard input.
 */
public class Probe {
  static final Configuration conf = new Configuration();
  static final YarnRPC rpc = YarnRPC.create(conf);

  interface Step { Object run() throws Exception; }

  static void tell(String name, UserGroupInformation who, Step step) {
    String got;
    try {
      got = String.valueOf(who.doAs((PrivilegedExceptionAction<Object>) step::run));
    } catch (Throwable e) {
      while (e instanceof java.lang.reflect.UndeclaredThrowableException || e instanceof java.security.PrivilegedActionException) {
        e = e.getCause();
      }
      StringBuilder b = new StringBuilder();
      for (Throwable c = e; c != null; c = c.getCause()) {
        b.append(c.getClass().getName()).append(": ").append(c.getMessage()).append(" / ");
      }
      got = b.toString();
    }
    System.out.println(name + " = " + got.replace('\n', ' '));
    System.out.flush();
  }

  static UserGroupInformation user(String name, String kind, String id, String password, InetSocketAddress at) {
    UserGroupInformation u = UserGroupInformation.createRemoteUser(name);
    if (kind != null) {
      u.addToken(new Token<TokenIdentifier>(id.getBytes(), password.getBytes(), new Text(kind), SecurityUtil.buildTokenService(at)));
    }
    return u;
  }

  static Object newApplication(InetSocketAddress at) throws Exception {
    return ((ApplicationClientProtocol) rpc.getProxy(ApplicationClientProtocol.class, at, conf))
        .getNewApplication(GetNewApplicationRequest.newInstance()).getApplicationId();
  }

  static Object report(InetSocketAddress at) throws Exception {
    return ((ApplicationClientProtocol) rpc.getProxy(ApplicationClientProtocol.class, at, conf))
        .getApplicationReport(GetApplicationReportRequest.newInstance(ApplicationId.newInstance(5, 6)));
  }

  static Object finish(InetSocketAddress at) throws Exception {
    return ((ApplicationMasterProtocol) rpc.getProxy(ApplicationMasterProtocol.class, at, conf))
        .finishApplicationMaster(FinishApplicationMasterRequest.newInstance(FinalApplicationStatus.SUCCEEDED, "d", "t")).getIsUnregistered();
  }

  public static void main(String[] a) throws Exception {
    conf.setInt("ipc.client.connect.max.retries", 0);
    InetSocketAddress simple = new InetSocketAddress("127.0.0.1", Integer.parseInt(a[0]));
    InetSocketAddress both = new InetSocketAddress("127.0.0.1", Integer.parseInt(a[1]));
    InetSocketAddress token = new InetSocketAddress("127.0.0.1", Integer.parseInt(a[2]));
    String id = a[3];
    String password = a[4];
    String am = "YARN_AM_RM_TOKEN";
    String dt = "RM_DELEGATION_TOKEN";
    tell("none", user("alice", null, null, null, null), () -> newApplication(simple));
    tell("none at both", user("alice", null, null, null, null), () -> newApplication(both));
    tell("foreign token, simple port", user("bob", am, id, password, token), () -> newApplication(simple));
    tell("foreign token, both", user("bob", am, id, password, token), () -> newApplication(both));
    tell("token at both", user("carol", dt, id, password, both), () -> newApplication(both));
    tell("token", user("dave", am, id, password, token), () -> finish(token));
    tell("none at token port", user("dave", null, null, null, null), () -> finish(token));
    tell("wrong password", user("dave", am, id, "guess", token), () -> finish(token));
    tell("unknown token", user("dave", am, "other", password, token), () -> finish(token));
    tell("standby during sasl", user("dave", am, "standby", password, token), () -> finish(token));
    tell("exception", user("alice", null, null, null, null), () -> report(simple));
    tell("proxy user", UserGroupInformation.createProxyUser("alice", user("mallory", null, null, null, null)), () -> newApplication(simple));
    serve(password);
  }

  static void serve(String password) throws Exception {
    Configuration c = new Configuration();
    c.set("hadoop.security.authentication", "TOKEN");
    SecretManager<NMTokenIdentifier> secrets = new SecretManager<NMTokenIdentifier>() {
      @Override protected byte[] createPassword(NMTokenIdentifier i) { return password.getBytes(); }
      @Override public byte[] retrievePassword(NMTokenIdentifier i) throws InvalidToken {
        if (i.getKeyId() != 42) {
          throw new InvalidToken("key " + i.getKeyId());
        }
        return password.getBytes();
      }
      @Override public NMTokenIdentifier createIdentifier() { return new NMTokenIdentifier(); }
    };
    Object door = Proxy.newProxyInstance(Probe.class.getClassLoader(), new Class<?>[] {ContainerManagementProtocol.class}, (p, m, args) -> {
      if (m.getName().equals("getContainerStatuses")) {
        if (!UserGroupInformation.getCurrentUser().getUserName().equals("appattempt_1700000000000_0007_000001")) {
          throw new YarnException("user " + UserGroupInformation.getCurrentUser());
        }
        return GetContainerStatusesResponse.newInstance(new ArrayList<>(), new HashMap<>());
      }
      throw new YarnException("no " + m.getName());
    });
    Server server = rpc.getServer(ContainerManagementProtocol.class, door, new InetSocketAddress("127.0.0.1", 0), c, secrets, 2);
    server.start();
    System.out.println("serving = " + server.getListenerAddress().getPort());
    System.out.flush();
    while (System.in.read() >= 0) { }
    server.stop();
  }
}
